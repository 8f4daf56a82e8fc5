import { useMemo, useState } from "react";
import { Button } from "../../components/button";
import { CodeBlock, Copy } from "../../components/copy";
import { ProblemNote } from "../../components/problem";
import type { Schemas } from "../../lib/api";
import { Problem } from "../../lib/problem";
import { compare, parsed } from "./diff";
import { dropped, kept, written, type Edit } from "./mask";

interface Props {
  of: Schemas["Inspection"];
  tool: Schemas["Tool"];
  profile: string;
  editor: boolean;
  busy: boolean;
  error: unknown;
  onEdit: (edit: Edit) => void;
  onReload: () => void;
}

/** The answer as it came beside what the agent gets of it; a member is kept or left out with two clicks. */
export function Shaping({ of, tool, profile, editor, busy, error, onEdit, onReload }: Props) {
  const [chosen, setChosen] = useState<string[]>();
  const before = useMemo(() => (of.cut ? undefined : parsed(of.received)), [of]);
  const after = useMemo(() => (of.shaped ? parsed(of.shaped) : before), [of, before]);
  const diff = useMemo(() => (before === undefined ? undefined : compare(before, after)), [before, after]);
  const others = tool.answers?.jq ? "an expression (jq)" : of.plugins?.length ? "a plugin" : "";
  if (!diff) {
    return (
      <>
        <p className="mb-2 text-muted">{of.cut ? "The answer is longer than 512 KiB: its beginning." : "The answer is not JSON, so there are no members to choose."}</p>
        <CodeBlock label="the answer as received" text={of.received} />
      </>
    );
  }
  const isGone = (path: string[]) => diff.leftOut.some((p) => p.every((name, i) => name === path[i]));
  const apply = (path: string[]) => {
    const fields = tool.answers?.fields ?? "";
    onEdit(isGone(path) ? kept(fields, profile, path, diff) : dropped(fields, path));
    setChosen(undefined);
  };
  return (
    <div className="space-y-3">
      {error ? <ProblemNote error={error} {...(error instanceof Problem && error.status === 412 ? { retry: onReload } : {})} /> : null}
      {others ? <p className="text-muted">{`The answer is made by ${others}: what a mask leaves out is gone before. Change that instead.`}</p> : null}
      <div className="grid gap-4 lg:grid-cols-2">
        <section className="min-w-0" aria-label="As received">
          <h3 className="mb-1 font-medium">As received</h3>
          <p className="mb-2 text-muted">Struck through: what the agent does not get. Choose a member to change that.</p>
          <ul className="max-h-[32rem] overflow-auto rounded-md border border-line bg-sunken p-2 font-mono text-[0.9rem]" tabIndex={0}>
            {diff.lines.map((line, i) => (
              // oxlint-disable-next-line react/no-array-index-key -- lines have no other identity, and all are made anew
              <li key={i} className="min-h-6 break-all" style={{ paddingLeft: `${Math.min(line.depth, 12) * 0.9}rem` }}>
                {line.name === undefined ? (
                  <Value removed={line.removed} text={line.text} />
                ) : (
                  <>
                    <button
                      type="button"
                      className="min-h-6 min-w-6 rounded px-0.5 text-left text-accent hover:bg-accent-soft"
                      aria-pressed={chosen !== undefined && written(chosen) === written(line.path)}
                      aria-label={`${written(line.path)}${line.removed ? ", left out" : ""}`}
                      onClick={() => setChosen(line.path)}
                    >
                      {line.removed ? <del>{line.name}</del> : line.name}
                    </button>
                    {": "}
                    <Value removed={line.removed} text={line.text} />
                  </>
                )}
              </li>
            ))}
          </ul>
          {diff.shortened ? <p className="mt-1 text-muted">Long lists are shown by their first elements.</p> : null}
        </section>
        <section className="min-w-0" aria-label="What the agent gets">
          <h3 className="mb-1 font-medium">What the agent gets</h3>
          <p className="mb-2 text-muted">As JSON; the agent reads it as {of.form || "it came"}.</p>
          <CodeBlock low label="the members that the agent gets" text={JSON.stringify(after, null, 2).slice(0, 60_000)} />
        </section>
      </div>
      {chosen ? (
        <div role="status" className="flex flex-wrap items-center gap-3 rounded-lg border border-line bg-surface p-3">
          <code className="min-w-0 font-mono break-all">{written(chosen)}</code>
          <Copy text={written(chosen)} label="Copy the path" />
          <Button kind="primary" busy={busy} disabled={!editor || others !== ""} onClick={() => apply(chosen)}>
            {isGone(chosen) ? "Keep this" : "Drop this"}
          </Button>
          {editor ? null : <span className="text-muted">Changing it needs the role editor.</span>}
        </div>
      ) : null}
    </div>
  );
}

const Value = ({ text, removed }: { text: string; removed: boolean }) => (removed ? <del className="text-muted">{text}</del> : <span>{text}</span>);
