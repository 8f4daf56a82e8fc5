/** What is written as JSON: an object; undefined: it is none. Nothing at all is an empty one. */
export function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() || "{}");
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The change from one object to another, as a merge patch writes it: null for what is gone. */
export function mergePatch(from: Record<string, unknown>, to: Record<string, unknown>): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(to)) if (JSON.stringify(value) !== JSON.stringify(from[key])) patch[key] = value;
  for (const key of Object.keys(from)) if (!(key in to)) patch[key] = null;
  return patch;
}
