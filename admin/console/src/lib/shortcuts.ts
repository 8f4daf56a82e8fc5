/** The pages that two keys open: g and one of these. */
export const places = [
  { key: "h", to: "/", name: "Home" },
  { key: "t", to: "/toolsets", name: "Toolsets" },
  { key: "p", to: "/playground", name: "Playground" },
  { key: "c", to: "/catalog", name: "Catalog" },
  { key: "u", to: "/plugins", name: "Plugins" },
  { key: "a", to: "/analytics", name: "Analytics" },
  { key: "l", to: "/alerts", name: "Alerts" },
  { key: "s", to: "/settings", name: "Settings" },
] as const;

export type Place = (typeof places)[number]["to"];

/** What a key asks for. */
export type Wish = { menu: true } | { help: true } | { create: true } | { search: true } | { to: Place };

/** So long after g the second key counts, in milliseconds. */
const SECOND = 1500;

type Key = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "timeStamp">;

/**
 * Reads keys one after the other. Ctrl or ⌘ with K always counts; single keys only where single
 * is true and nothing is being typed (WCAG 2.1.4).
 */
export function shortcutReader(): (event: Key, typing: boolean, single: boolean) => Wish | undefined {
  let began = -Infinity;
  return ({ key, ctrlKey, metaKey, altKey, timeStamp }, typing, single) => {
    const second = timeStamp - began <= SECOND;
    began = -Infinity;
    if ((ctrlKey || metaKey) && !altKey && key.toLowerCase() === "k") return { menu: true };
    if (ctrlKey || metaKey || altKey || typing || !single) return undefined;
    if (second) {
      const place = places.find((p) => p.key === key);
      return place ? { to: place.to } : undefined;
    }
    if (key === "g") began = timeStamp;
    return key === "?" ? { help: true } : key === "c" ? { create: true } : key === "/" ? { search: true } : undefined;
  };
}

const KEY = "sluice.shortcuts";

/** Whether single keys do something; they do until somebody turns them off. */
export function readSingleKeys(): boolean {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return true;
  }
}

export function writeSingleKeys(on: boolean) {
  try {
    if (on) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, "off");
  } catch {
    // Storage is off: they stay as they are until the page is loaded again.
  }
}
