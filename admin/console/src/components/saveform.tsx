import type { UseMutationResult } from "@tanstack/react-query";
import type { FormEvent, ReactNode } from "react";
import type { Edits } from "../lib/edits";
import { useCan } from "../lib/session";
import { Button } from "./button";
import { SaveProblem } from "./conflict";

/** What a form sends: the entered members, and all of them for what is replaced as a whole. */
export interface Save<T> {
  match: string;
  part: Partial<T>;
  all: T;
}

interface Props<T extends object> {
  label: string;
  legend: string;
  /** What the node has now. */
  stored: T;
  edits: Edits<T>;
  /** What people call the members. */
  names: Partial<Record<keyof T, string>>;
  /** What is wrong with the entries, by field: nothing is sent while there is something. */
  bad: Record<string, string | undefined>;
  save: UseMutationResult<unknown, Error, Save<T>>;
  /** What saving means, before and after it was done. */
  before: string;
  after: string;
  children: ReactNode;
}

/** A form over what the node has, for those who may change it; others only read it. */
export function SaveForm<T extends object>({ label, legend, stored, edits, names, bad, save, before, after, children }: Props<T>) {
  const editor = useCan("editor");
  const send = (match: string) => save.mutate({ match, part: edits.changed, all: edits.values });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (Object.values(bad).every((fault) => !fault)) send(edits.etag);
  };
  return (
    <form onSubmit={submit} noValidate aria-label={label}>
      <fieldset disabled={!editor} className="min-w-0 space-y-5">
        <legend className="sr-only">{legend}</legend>
        {children}
        {save.isError ? <SaveProblem error={save.error} stored={stored} edits={edits} names={names} reset={save.reset} save={() => send(edits.newest)} /> : null}
        {editor ? (
          <div className="flex flex-wrap items-center gap-3">
            <Button type="submit" kind="primary" busy={save.isPending} disabled={!edits.dirty}>
              Save
            </Button>
            {edits.dirty ? <Button onClick={edits.drop}>Discard</Button> : null}
            <p role="status" className="text-muted">
              {save.isSuccess && !edits.dirty ? after : before}
            </p>
          </div>
        ) : (
          <p className="text-muted">Changing it needs the role editor.</p>
        )}
      </fieldset>
    </form>
  );
}
