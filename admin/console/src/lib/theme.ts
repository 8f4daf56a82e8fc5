export type Theme = "system" | "light" | "dark";

const KEY = "sluice.theme";

export function readTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}

/** Stores the choice; public/theme.js, which runs before the first paint, applies it. */
export function writeTheme(theme: Theme) {
  try {
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // Storage is off: the theme stays that of the system.
  }
  dispatchEvent(new Event("sluice:theme"));
}
