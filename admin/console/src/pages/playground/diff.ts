type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A line of the answer as it came. */
export interface Line {
  depth: number;
  name?: string;
  /** The path of the member without places in arrays, as masks have it; empty: it is none. */
  path: string[];
  text: string;
  removed: boolean;
}

export interface Diff {
  lines: Line[];
  /** Lines or elements were left out of what is shown. */
  shortened: boolean;
  /** Members that the agent gets nowhere in this answer, the outermost of them. */
  leftOut: string[][];
  /** The names of the members below a path, as they came. */
  members: (path: string[]) => string[];
}

const MOST_LINES = 1500;
const MOST_ELEMENTS = 5;
const MOST_TEXT = 300;

export function parsed(text: string | undefined): Json | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

const isObject = (v: Json | undefined): v is { [name: string]: Json } => typeof v === "object" && v !== null && !Array.isArray(v);
const own = (v: Json | undefined, name: string) => (isObject(v) && Object.hasOwn(v, name) ? v[name] : undefined);
const scalar = (v: Json) => {
  const text = JSON.stringify(v);
  return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text;
};

/** Which parts of an answer the agent does not get. */
export function compare(before: Json, after: Json | undefined): Diff {
  const lines: Line[] = [];
  let shortened = false;
  const names = new Map<string, Set<string>>();
  const seen = new Map<string, { path: string[]; given: boolean }>();

  const line = (depth: number, path: string[], text: string, removed: boolean, name?: string) => {
    if (lines.length >= MOST_LINES) shortened = true;
    else lines.push(name === undefined ? { depth, path, text, removed } : { depth, path, text, removed, name });
  };
  const walk = (b: Json, a: Json | undefined, path: string[], depth: number, removed: boolean, shown: boolean, name?: string) => {
    const put = (at: number, text: string, label?: string) => {
      if (shown) line(at, label === undefined ? [] : path, text, removed, label);
    };
    if (Array.isArray(b)) {
      if (b.length === 0) return put(depth, "[]", name);
      put(depth, "[", name);
      // Of a list with other rows than came, each row is compared with all of its rows.
      const rows = Array.isArray(a) ? a : undefined;
      const union = rows && rows.length !== b.length ? merged(rows) : undefined;
      b.forEach((item, i) => {
        walk(item, rows ? (union ?? rows[i]) : undefined, path, depth + 1, removed, shown && i < MOST_ELEMENTS);
      });
      if (b.length > MOST_ELEMENTS) {
        shortened = true;
        put(depth + 1, `… ${b.length - MOST_ELEMENTS} more`);
      }
      return put(depth, "]");
    }
    if (!isObject(b)) return put(depth, scalar(b), name);
    const keys = Object.keys(b);
    if (keys.length === 0) return put(depth, "{}", name);
    put(depth, "{", name);
    const known = names.get(JSON.stringify(path)) ?? new Set<string>();
    names.set(JSON.stringify(path), known);
    for (const key of keys) {
      known.add(key);
      const next = [...path, key];
      const there = own(a, key);
      const gone = removed || there === undefined;
      if (!removed) {
        const id = JSON.stringify(next);
        seen.set(id, { path: next, given: !gone || (seen.get(id)?.given ?? false) });
      }
      walk(b[key] ?? null, there, next, depth + 1, gone, shown, key);
    }
    put(depth, "}");
  };
  walk(before, after, [], 0, after === undefined, true);
  return {
    lines,
    shortened,
    leftOut: [...seen.values()].filter((s) => !s.given).map((s) => s.path),
    members: (path) => [...(names.get(JSON.stringify(path)) ?? [])],
  };
}

function merged(rows: Json[]): Json | undefined {
  const all: { [name: string]: Json } = {};
  for (const row of rows) if (isObject(row)) for (const [name, value] of Object.entries(row)) all[name] ??= value;
  return rows.length > 0 ? all : undefined;
}
