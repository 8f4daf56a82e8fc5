export const writeLabels = (labels: Record<string, string>) => Object.entries(labels).map(([name, value]) => `${name}=${value}`).join(" ");

/** The labels of a text such as "region=eu tier=gold"; undefined: a word is none. */
export function readLabels(text: string): Record<string, string> | undefined {
  const pairs = text.split(/[\s,]+/).filter((word) => word !== "").map((word) => word.split("="));
  return pairs.every((pair) => pair.length === 2 && pair[0] !== "") ? Object.fromEntries(pairs) : undefined;
}
