import { useId } from "react";

interface Choice<T extends string> {
  value: T;
  name: string;
  note?: string;
}

/** One of a few, each with a word on what it does. */
export function Choices<T extends string>({ label, value, onValue, choices }: { label: string; value: T; onValue: (value: T) => void; choices: readonly Choice<T>[] }) {
  const id = useId();
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 font-medium">{label}</legend>
      {choices.map((c) => (
        <label key={c.value} className="flex min-h-8 items-start gap-2 py-1">
          <input
            type="radio"
            name={id}
            className="mt-0.5 size-4 shrink-0 accent-(--accent)"
            checked={value === c.value}
            onChange={() => onValue(c.value)}
            aria-describedby={c.note ? `${id}-${c.value}` : undefined}
            aria-label={c.name}
          />
          <span>
            {c.name}
            {c.note ? (
              <span id={`${id}-${c.value}`} className="block text-muted">
                {c.note}
              </span>
            ) : null}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** On or off, with a word on what it does. */
export function Switch({ label, note, checked, onChecked }: { label: string; note?: string; checked: boolean; onChecked: (checked: boolean) => void }) {
  const id = useId();
  return (
    <label className="flex min-h-8 items-start gap-2 py-1">
      <input
        type="checkbox"
        className="mt-0.5 size-4 shrink-0 accent-(--accent)"
        checked={checked}
        onChange={(e) => onChecked(e.target.checked)}
        aria-label={label}
        aria-describedby={note ? `${id}-note` : undefined}
      />
      <span>
        {label}
        {note ? (
          <span id={`${id}-note`} className="block text-muted">
            {note}
          </span>
        ) : null}
      </span>
    </label>
  );
}
