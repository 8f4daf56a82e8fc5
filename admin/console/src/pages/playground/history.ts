import type { Arguments } from "./form";

/** A run that was made in this tab of the browser. Answers are not kept. */
export interface Past {
  id: number;
  toolset: string;
  tool: string;
  args: Arguments;
  passed: boolean;
  ms: number;
  before: number;
  after: number;
}

const KEY = "sluice:playground";
const MOST = 20;

export function past(): Past[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? (kept as Past[]) : [];
  } catch {
    return [];
  }
}

export function remember(run: Omit<Past, "id">): Past[] {
  const runs = [{ ...run, id: Date.now() }, ...past()].slice(0, MOST);
  try {
    sessionStorage.setItem(KEY, JSON.stringify(runs));
  } catch {
    // Storage may be full or forbidden: the list lasts as long as the page then.
  }
  return runs;
}

export function forget(): Past[] {
  sessionStorage.removeItem(KEY);
  return [];
}
