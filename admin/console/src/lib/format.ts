const number = new Intl.NumberFormat("en-US");
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const moment = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

export const count = (n: number) => number.format(n);

/** 15,783 as 15.8K: for tiles, where the whole number is too long. */
export const short = (n: number) => (n < 10_000 ? number.format(n) : compact.format(n));

export const plural = (n: number, one: string, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

export function percent(part: number, whole: number): string {
  if (whole <= 0) return "–";
  const value = (part / whole) * 100;
  if (value > 0 && value < 0.1) return "<0.1 %";
  return `${value.toFixed(value < 10 && value % 1 !== 0 ? 1 : 0)} %`;
}

/** How much less after is than before: −89 %. */
export function saved(before: number, after: number): string {
  if (before <= 0) return "–";
  const change = Math.trunc((1 - after / before) * 100); // as on the command line: never more than was saved
  if (change === 0) return "0 %";
  return change > 0 ? `−${change} %` : `+${-change} %`;
}

export function milliseconds(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(0)} s`;
  if (ms > 0 && ms < 0.05) return "<0.1 ms";
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 || ms === 0 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(1)} ms`;
}

/** A message of the node as a sentence: it begins with a capital letter and ends with a full stop. */
export const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

const precise = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** A moment to the second, as logs have it. */
export const second = (at: string) => precise.format(new Date(at));

export const date = (at: string) => moment.format(new Date(at));

const STEPS: [number, Intl.RelativeTimeFormatUnit][] = [
  [60, "second"],
  [60, "minute"],
  [24, "hour"],
  [30, "day"],
  [12, "month"],
  [Infinity, "year"],
];

export function ago(at: string, now = Date.now()): string {
  let value = (now - new Date(at).getTime()) / 1000;
  if (value < 45) return "just now";
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  for (const [size, unit] of STEPS) {
    if (Math.round(value) < size) return words.format(-Math.round(value), unit);
    value /= size;
  }
  return date(at);
}

/** A message as a sentence begins: its first word is one of the language, not a name, a command or code. */
export const capital = (text: string) => (/^[a-z]+[ ,]/.test(text) && !text.startsWith("sluice ") ? text.slice(0, 1).toUpperCase() + text.slice(1) : text);
