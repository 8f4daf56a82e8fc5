import type { UseMutationResult } from "@tanstack/react-query";
import type { FormEvent, ReactNode } from "react";
import { Button } from "./button";
import { CodeBlock } from "./copy";
import { Dialog } from "./dialog";
import { ProblemNote } from "./problem";

interface Props<T, V> {
  title: string;
  open: boolean;
  close: () => void;
  /** What the form does; it is forgotten when the dialog closes. */
  does: UseMutationResult<T, Error, V>;
  /** Starts it, with the fields of the form; text is that of one of them, without blanks around it. */
  submit: (text: (name: string) => string, form: FormData) => void;
  /** What the button says. */
  action: string;
  /** The action cannot be undone. */
  danger?: boolean;
  disabled?: boolean;
  /** The command that does the same, where there is one. */
  command?: string;
  /** What is shown instead of the form once it is done, such as a secret that is told once. */
  made?: ReactNode;
  noValidate?: boolean;
  /** The fields. */
  children: ReactNode;
}

/** A secret that is told this once. */
export function Once({ label, text }: { label: string; text: string }) {
  return (
    <>
      <p className="mb-2">Copy it now: it is not stored, and nobody can show it again.</p>
      <CodeBlock label={label} text={text} />
    </>
  );
}

/** A dialog with a form that makes or changes one thing. */
export function FormDialog<T, V>({ title, open, close, does, submit, action, danger = false, disabled = false, command, made, noValidate = false, children }: Props<T, V>) {
  const shut = () => {
    does.reset();
    close();
  };
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    submit((name) => String(form.get(name) ?? "").trim(), form);
  };
  return (
    <Dialog title={title} open={open} onClose={shut}>
      {made ? (
        <>
          {made}
          <div className="mt-4 flex justify-end">
            <Button onClick={shut}>Close</Button>
          </div>
        </>
      ) : (
        <form onSubmit={send} noValidate={noValidate} className="space-y-4">
          {children}
          {does.isError ? <ProblemNote error={does.error} /> : null}
          {command ? (
            <p className="text-muted">
              The same in a terminal: <code className="font-mono break-all text-text">{command}</code>
            </p>
          ) : null}
          <div className="flex justify-end gap-2">
            <Button onClick={shut}>Cancel</Button>
            <Button kind={danger ? "danger" : "primary"} type="submit" busy={does.isPending} disabled={disabled}>
              {action}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
