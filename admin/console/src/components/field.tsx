import { useId, type InputHTMLAttributes, type SelectHTMLAttributes, type TextareaHTMLAttributes } from "react";

const look =
  "min-h-8 w-full rounded-md border border-line-strong bg-surface px-2.5 py-1 text-text placeholder:text-muted disabled:opacity-60 aria-invalid:border-bad";

interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
  label: string;
  hint?: string;
  error?: string;
}

export function TextField({ label, hint, error, ...rest }: FieldProps) {
  const id = useId();
  const note = error ?? hint;
  return (
    <div>
      <label htmlFor={id} className="mb-1 block font-medium">
        {label}
      </label>
      <input id={id} className={look} aria-invalid={error ? true : undefined} aria-describedby={note ? `${id}-note` : undefined} {...rest} />
      {note ? (
        <p id={`${id}-note`} className={`mt-1 ${error ? "text-bad" : "text-muted"}`}>
          {note}
        </p>
      ) : null}
    </div>
  );
}

/** A field for text of several lines. */
export function TextArea({ label, hint, error, ...rest }: TextareaHTMLAttributes<HTMLTextAreaElement> & Pick<FieldProps, "label" | "hint" | "error">) {
  const id = useId();
  const note = error ?? hint;
  return (
    <div>
      <label htmlFor={id} className="mb-1 block font-medium">
        {label}
      </label>
      <textarea id={id} rows={3} className={look} aria-invalid={error ? true : undefined} aria-describedby={note ? `${id}-note` : undefined} {...rest} />
      {note ? (
        <p id={`${id}-note`} className={`mt-1 ${error ? "text-bad" : "text-muted"}`}>
          {note}
        </p>
      ) : null}
    </div>
  );
}

/** A native drop-down: it needs no script that the content security policy forbids. */
export function Select({ label, hidden = false, children, ...rest }: SelectHTMLAttributes<HTMLSelectElement> & { label: string; hidden?: boolean }) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className={hidden ? "sr-only" : "mb-1 block font-medium"}>
        {label}
      </label>
      <select id={id} className={look} {...rest}>
        {children}
      </select>
    </div>
  );
}

/** A field that filters what is below it. */
export function SearchField({ label, ...rest }: InputHTMLAttributes<HTMLInputElement> & { label: string }) {
  return <input type="search" aria-label={label} placeholder={label} className={`${look} max-w-72`} {...rest} />;
}

/** The look of a field for files: its button looks like the others. */
export const fileClass = "max-w-full rounded-md file:mr-3 file:min-h-8 file:rounded-md file:border file:border-solid file:border-line-strong file:bg-surface file:px-3 file:font-medium file:text-text hover:file:bg-sunken";
