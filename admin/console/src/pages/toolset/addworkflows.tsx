import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState, type ChangeEvent } from "react";
import { Button } from "../../components/button";
import { CodeBlock } from "../../components/copy";
import { TextArea, fileClass } from "../../components/field";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Badge } from "../../components/status";
import { api, unwrap } from "../../lib/api";
import { plural } from "../../lib/format";
import { Problem } from "../../lib/problem";
import { toolsetQuery } from "../../lib/queries";

/** An Arazzo document: it is checked, its plans are shown, and then its workflows become tools. */
export function AddWorkflows({ slug, etag, have, close }: { slug: string; etag: string; have: string[]; close: () => void }) {
  const queries = useQueryClient();
  const id = useId();
  const file = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [fileName, setFileName] = useState("");
  const [match, setMatch] = useState(etag);
  useEffect(() => file.current?.focus(), []);

  const send = (dryRun: boolean) =>
    unwrap(
      api.POST("/v1/toolsets/{id}/workflows", {
        params: { path: { id: slug }, header: { "If-Match": match } },
        body: { document: text, ...(fileName ? { fileName } : {}), dryRun },
      }),
    );
  const check = useMutation({ mutationFn: () => send(true) });
  const add = useMutation({
    mutationFn: () => send(false),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["toolset", slug] });
      close();
    },
  });
  const change = (next: string, name: string) => {
    setText(next);
    setFileName(name);
    check.reset();
    add.reset();
  };
  const read = async (e: ChangeEvent<HTMLInputElement>) => {
    const chosen = e.target.files?.[0];
    if (chosen) change(await chosen.text(), chosen.name);
  };
  const again = async () => {
    const { etag: now } = await queries.fetchQuery({ ...toolsetQuery(slug), staleTime: 0 });
    setMatch(now);
    check.reset();
    add.reset();
  };
  const error = add.error ?? check.error;
  return (
    <Card title="Add an Arazzo document">
      <div className="space-y-4">
        <div>
          <label htmlFor={id} className="mb-1 block font-medium">
            File
          </label>
          <input ref={file} id={id} type="file" accept=".yaml,.yml,.json" className={fileClass} onChange={(e) => void read(e)} />
        </div>
        <TextArea label="Or its text" rows={8} spellCheck={false} value={text} onChange={(e) => change(e.target.value, "")} hint="Arazzo 1.0 or 1.1, as YAML or JSON. Its steps call operations of this toolset." />
        {error ? <ProblemNote error={error} {...(error instanceof Problem && error.status === 412 ? { retry: () => void again() } : {})} /> : null}
        {check.data ? (
          <div role="status" className="space-y-3">
            <p>This is what the toolset has then. Nothing is changed yet.</p>
            {check.data.items.map((w) => (
              <div key={w.name}>
                <h3 className="mb-1 flex min-h-6 flex-wrap items-center gap-2 font-medium">
                  {w.name}
                  <span className="font-normal text-muted">{plural(w.steps, "step")}</span>
                  {have.includes(w.name) ? null : <Badge tone="plain">New</Badge>}
                  {w.state === "ready" ? null : <Badge tone="warn">Waiting</Badge>}
                </h3>
                {w.missing?.length ? <p className="text-warn">Not there or not enabled: {w.missing.join(", ")}</p> : null}
                <CodeBlock label={`the plan of ${w.name}`} text={w.plan} />
              </div>
            ))}
          </div>
        ) : null}
        <div className="flex flex-wrap gap-2">
          {check.data ? (
            <Button kind="primary" busy={add.isPending} onClick={() => add.mutate()}>
              Make these tools
            </Button>
          ) : (
            <Button kind="primary" busy={check.isPending} disabled={text.trim() === ""} onClick={() => check.mutate()}>
              Check it
            </Button>
          )}
          <Button onClick={close}>Cancel</Button>
        </div>
        <p className="text-muted">
          The same in a terminal: <code className="font-mono break-all text-text">sluice toolset workflow add {slug} FILE</code>
        </p>
      </div>
    </Card>
  );
}
