import type { ReactNode } from "react";

export interface Column<T> {
  name: string;
  /** Numbers stand at the right. */
  number?: boolean;
  /** The name is for screen readers only. */
  quiet?: boolean;
  /** Left out where the window is narrow. */
  wide?: boolean;
  cell: (row: T) => ReactNode;
}

interface Props<T> {
  label: string;
  columns: Column<T>[];
  rows: T[];
  id: (row: T) => string;
}

/** A table that scrolls by itself where it is wider than the window. */
export function Table<T>({ label, columns, rows, id }: Props<T>) {
  const place = (c: Column<T>) => `${c.number ? "text-right whitespace-nowrap tabular-nums" : "text-left"} ${c.wide ? "hidden lg:table-cell" : ""}`;
  return (
    <div className="overflow-x-auto" role="region" aria-label={label} tabIndex={0}>
      <table className="w-full border-collapse">
        <thead>
          <tr className="border-b border-line">
            {columns.map((c) => (
              <th key={c.name} scope="col" className={`px-4 py-2 text-[0.86rem] font-medium whitespace-nowrap text-muted ${place(c)}`}>
                {c.quiet ? <span className="sr-only">{c.name}</span> : c.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={id(row)} className="border-b border-line last:border-0 hover:bg-sunken">
              {columns.map((c) => (
                <td key={c.name} className={`h-11 px-4 py-2 ${place(c)}`}>
                  {c.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
