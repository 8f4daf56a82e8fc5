import { useId, useRef } from "react";

/** A place in a script that an answer speaks of. */
export interface Place {
  line: number;
  column: number;
  says: string;
}

const PLACES = 20;

/** The places of a script that the answer of a failed run names, as "(line 2, column 10)" behind what is wrong there. */
export function placesOf(answer: string): Place[] {
  const places: Place[] = [];
  for (const text of answer.slice(0, 65_536).split("\n")) {
    const found = /\(line (\d{1,6}), column (\d{1,6})\)/.exec(text);
    if (found) places.push({ line: Number(found[1]), column: Number(found[2]), says: text.slice(0, found.index).trim() });
    if (places.length === PLACES) break;
  }
  return places;
}

/** Where a line and a column, both from 1, are in a text. */
export function offsetOf(text: string, line: number, column: number): number {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0);
  return Math.min(before + Math.min(column - 1, lines[line - 1]?.length ?? 0), text.length);
}

interface Props {
  label: string;
  value: string;
  hint?: string;
  error?: string;
  places: Place[];
  onChange: (text: string) => void;
}

/** A field for a script, with the numbers of its lines; Ctrl and Enter run it, and Tab leaves it as every field. */
export function CodeField({ label, value, hint, error, places, onChange }: Props) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const lines = Math.max(value.split("\n").length, 8);
  const bad = new Set(places.map((p) => p.line));
  const note = error ?? hint;
  const goTo = (p: Place) => {
    const at = offsetOf(value, p.line, p.column);
    area.current?.focus();
    area.current?.setSelectionRange(at, Math.min(at + 1, value.length));
  };
  return (
    <div>
      <label htmlFor={id} className="mb-1 block font-medium">
        {label}
      </label>
      <div className="flex max-h-[32rem] overflow-y-auto rounded-md border border-line-strong bg-surface font-mono text-[0.9rem] leading-6">
        <ol aria-hidden className="shrink-0 border-r border-line bg-sunken py-1 text-right text-muted select-none">
          {Array.from({ length: lines }, (_, i) => (
            // oxlint-disable-next-line react/no-array-index-key -- a line is its number
            <li key={i} className={`min-w-9 px-2 ${bad.has(i + 1) ? "bg-bad-soft font-semibold text-bad" : ""}`}>
              {i + 1}
            </li>
          ))}
        </ol>
        <textarea
          ref={area}
          id={id}
          rows={lines}
          wrap="off"
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          className="min-w-0 flex-1 resize-none overflow-x-auto overflow-y-hidden bg-transparent px-2 py-1 text-text"
          aria-invalid={error || places.length > 0 ? true : undefined}
          aria-describedby={note ? `${id}-note` : undefined}
          value={value}
          onChange={(e) => onChange(e.target.value)}
          onKeyDown={(e) => {
            if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey)) return;
            e.preventDefault();
            e.currentTarget.form?.requestSubmit();
          }}
        />
      </div>
      {note ? (
        <p id={`${id}-note`} className={`mt-1 ${error ? "text-bad" : "text-muted"}`}>
          {note}
        </p>
      ) : null}
      {places.length > 0 ? (
        <ul className="mt-2 space-y-1" aria-label="Faults of the script">
          {places.map((p) => (
            <li key={`${p.line} ${p.column} ${p.says}`}>
              <button type="button" className="min-h-6 rounded text-left break-words text-bad underline" onClick={() => goTo(p)}>
                Line {p.line}, column {p.column}: {p.says}
              </button>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
