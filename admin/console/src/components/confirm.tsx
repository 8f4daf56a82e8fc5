import { useMutation, useQueryClient, type QueryKey } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Button } from "./button";
import { Dialog } from "./dialog";
import { ProblemNote } from "./problem";

interface Props<T> {
  title: string;
  /** What it is about; null: the dialog is closed. */
  of: T | null;
  /** What the button says. */
  action: string;
  /** The command that does the same, where there is one. */
  command?: string;
  run: (of: T) => Promise<unknown>;
  /** What is read again afterwards. */
  stale: QueryKey;
  close: () => void;
  children: ReactNode;
}

/** Asks before something is done that cannot be undone. */
export function Confirm<T>({ title, of, action, command, run, stale, close, children }: Props<T>) {
  const queries = useQueryClient();
  const act = useMutation({
    mutationFn: run,
    onSuccess: () => close(),
    onSettled: () => queries.invalidateQueries({ queryKey: stale }),
  });
  const shut = () => {
    act.reset();
    close();
  };
  return (
    <Dialog title={title} open={of !== null} onClose={shut}>
      {children}
      {act.isError ? (
        <div className="mt-3">
          <ProblemNote error={act.error} />
        </div>
      ) : null}
      {command ? (
        <p className="mt-3 text-muted">
          The same in a terminal: <code className="font-mono break-all text-text">{command}</code>
        </p>
      ) : null}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={shut}>Cancel</Button>
        <Button kind="danger" busy={act.isPending} onClick={() => of !== null && act.mutate(of)}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
