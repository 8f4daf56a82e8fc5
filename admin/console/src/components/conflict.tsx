import type { Edits } from "../lib/edits";
import { Problem } from "../lib/problem";
import { Button } from "./button";
import { ProblemNote } from "./problem";

interface Props<T extends object> {
  error: unknown;
  /** What the node has now. */
  stored: T;
  edits: Edits<T>;
  /** What people call the members. */
  names: Partial<Record<keyof T, string>>;
  save: () => void;
  /** Forgets the error. */
  reset: () => void;
}

const shown = (value: unknown) => (value === "" || value === undefined || value === null ? "nothing" : value === true ? "on" : value === false ? "off" : String(value));

/** Why a form was not saved. After a change of somebody else: what they made of it, and whose is to stay. */
export function SaveProblem<T extends object>({ error, stored, edits, names, save, reset }: Props<T>) {
  if (!(error instanceof Problem) || error.status !== 412) return <ProblemNote error={error} />;
  const keys = Object.keys(edits.changed) as (keyof T)[];
  const theirs = () => {
    edits.drop();
    reset();
  };
  return (
    <div className="space-y-3">
      <ProblemNote error={error} />
      <div className="rounded-lg border border-line bg-surface p-4">
        {keys.length > 0 ? (
          <dl className="mb-3 space-y-2">
            {keys.map((key) => (
              <div key={String(key)} className="break-words">
                <dt className="font-medium">{names[key] ?? String(key)}</dt>
                <dd>Now on the node: {shown(stored[key])}</dd>
                <dd>Yours: {shown(edits.values[key])}</dd>
              </div>
            ))}
          </dl>
        ) : (
          <p className="mb-3">What is on the node now is what you entered.</p>
        )}
        <div className="flex flex-wrap gap-2">
          {keys.length > 0 ? <Button onClick={save}>Save mine</Button> : null}
          <Button onClick={theirs}>Take theirs</Button>
        </div>
      </div>
    </div>
  );
}
