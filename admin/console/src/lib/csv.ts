/** A cell of a CSV file (RFC 4180). What a spreadsheet would take for a formula gets an apostrophe. */
function cell(value: string | number | undefined): string {
  if (typeof value === "number") return String(value);
  let text = value ?? "";
  if (/^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export type Row = (string | number | undefined)[];

export const csv = (names: string[], rows: Row[]) => [names, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";

/** Saves a text as a file. */
export function download(name: string, text: string, type = "text/csv;charset=utf-8") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 0);
}
