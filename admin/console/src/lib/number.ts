/** What is wrong with a whole number as it was written; undefined: nothing. Empty is the default. */
export function wholeNumber(text: string, least: number, most: number): string | undefined {
  if (text === "") return undefined;
  const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? undefined : `Write a whole number from ${least.toLocaleString("en-US")} to ${most.toLocaleString("en-US")}.`;
}
