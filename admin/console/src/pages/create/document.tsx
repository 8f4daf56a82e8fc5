import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef } from "react";

/** A line of a minified document has megabytes: so much of it is shown. */
const WIDTH = 400;

/** Text with numbered lines, scrolled to one of them. Only the lines in view are made. */
export function DocumentView({ text, line }: { text: string; line: number }) {
  const box = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => text.split("\n"), [text]);
  const rows = useVirtualizer({ count: lines.length, getScrollElement: () => box.current, estimateSize: () => 21, overscan: 10 });
  useEffect(() => {
    if (line > 0) rows.scrollToIndex(line - 1, { align: "center" });
  }, [rows, line]);
  return (
    <div ref={box} tabIndex={0} role="region" aria-label="The document" className="h-72 overflow-auto rounded-md border border-line bg-sunken font-mono text-[0.9rem]">
      <div className="relative w-max min-w-full" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((row) => (
          <div
            key={row.key}
            aria-current={row.index + 1 === line || undefined}
            className={`absolute top-0 left-0 flex h-[21px] min-w-full whitespace-pre ${row.index + 1 === line ? "bg-bad-soft text-bad" : ""}`}
            style={{ transform: `translateY(${row.start}px)` }}
          >
            <span className="w-14 shrink-0 pr-3 text-right text-muted select-none">{row.index + 1}</span>
            {(lines[row.index] ?? "").slice(0, WIDTH)}
          </div>
        ))}
      </div>
    </div>
  );
}
