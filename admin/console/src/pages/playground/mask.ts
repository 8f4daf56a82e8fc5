import type { Diff } from "./diff";

/** One path of a field mask, as docs/response-programs.md §2 has it. */
export interface MaskItem {
  drop: boolean;
  path: string[];
}

/** What a click on a member asks for: settings of the answers of one tool. */
export interface Edit {
  fields: string;
  profile?: "lossless";
}

const plain = /^[A-Za-z0-9_$@:\u0080-\uffff][A-Za-z0-9_$@:\u0080-\uffff-]*$/;

const quoted = (name: string) => (plain.test(name) ? name : `\`${name.replaceAll("`", "``")}\``);

export const written = (path: string[]) => path.map(quoted).join(".");

export const writeMask = (items: MaskItem[]) => items.map((i) => (i.drop ? "-" : "") + i.path.map((n) => (n === "*" ? n : quoted(n))).join(".")).join(",");

/** The paths of a mask that the API accepted: parentheses are multiplied out. */
export function readMask(text: string): MaskItem[] {
  let at = 0;
  const name = () => {
    if (text[at] !== "`") {
      const start = at;
      while (at < text.length && !/[\s,.()/`]/.test(text.charAt(at))) at++;
      return text.slice(start, at);
    }
    let out = "";
    for (at++; at < text.length; at++) {
      if (text[at] === "`" && text[++at] !== "`") break;
      out += text[at];
    }
    return out;
  };
  const list = (prefix: string[], outer: boolean): MaskItem[] => {
    const items: MaskItem[] = [];
    while (at < text.length && text[at] !== ")") {
      if (/[\s,]/.test(text.charAt(at))) {
        at++;
        continue;
      }
      const drop = outer || text[at] === "-";
      if (text[at] === "-") at++;
      const before = at;
      const path = [...prefix, name()];
      while (text[at] === "." || text[at] === "/") {
        at++;
        path.push(name());
      }
      if (text[at] === "(") {
        at++;
        items.push(...list(path, drop));
        at++;
      } else if (at > before) {
        items.push({ drop, path });
      } else {
        at++;
      }
    }
    return items;
  };
  return list([], false);
}

const begins = (path: string[], start: string[]) => start.length <= path.length && start.every((name, i) => name === path[i]);
const same = (a: string[], b: string[]) => a.length === b.length && begins(a, b);

/** Leaves a member out. */
export function dropped(fields: string, path: string[]): Edit {
  const items = readMask(fields).filter((i) => !begins(i.path, path));
  const keeps = items.filter((i) => !i.drop);
  const hadKeeps = readMask(fields).some((i) => !i.drop);
  if (!hadKeeps || keeps.length === 0 || keeps.some((i) => begins(path, i.path) || i.path.includes("*"))) items.push({ drop: true, path });
  return { fields: writeMask(items) };
}

/** Drops what stands beside a path below one of its ancestors. */
function beside(diff: Diff, ancestor: string[], path: string[]): MaskItem[] {
  const items: MaskItem[] = [];
  for (let depth = ancestor.length; depth < path.length; depth++) {
    const parent = path.slice(0, depth);
    for (const name of diff.members(parent)) if (name !== path[depth]) items.push({ drop: true, path: [...parent, name] });
  }
  return items;
}

/**
 * Gives a member back. Where the tool's own mask left it out, that is changed. Where the
 * default projection did, the tool gets the profile lossless and a mask that leaves out
 * what else was left out of this answer.
 */
export function kept(fields: string, profile: string, path: string[], diff: Diff): Edit {
  const before = readMask(fields);
  const blocking = before.filter((i) => i.drop && (begins(path, i.path) || begins(i.path, path)));
  const items = before.filter((i) => !blocking.includes(i));
  for (const i of blocking) if (begins(path, i.path)) items.push(...beside(diff, i.path, path));
  const keeps = items.filter((i) => !i.drop);
  const missing = keeps.length > 0 && !keeps.some((i) => begins(path, i.path) || i.path.includes("*"));
  if (missing) items.push({ drop: false, path });
  if (blocking.length > 0 || missing || profile !== "concise") return { fields: writeMask(items) };
  for (const other of diff.leftOut) {
    if (same(other, path) || items.some((i) => i.drop && begins(other, i.path))) continue;
    if (begins(path, other)) items.push(...beside(diff, other, path));
    else if (keeps.length === 0 || keeps.some((i) => begins(other, i.path))) items.push({ drop: true, path: other });
  }
  return { fields: writeMask(items), profile: "lossless" };
}
