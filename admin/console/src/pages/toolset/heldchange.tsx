import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { ChangeList } from "../../components/changes";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, unwrap, type Schemas } from "../../lib/api";
import { plural } from "../../lib/format";
import { finish } from "../../lib/jobs";
import { useCan } from "../../lib/session";
import { outcome } from "./entryupdate";

type Toolset = Schemas["ToolsetDetail"];

const scheduleOf = (slug: string, connector: string) =>
  queryOptions({
    queryKey: ["toolset", slug, "schedule", connector],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/schedule", { params: { path: { id: slug }, query: { connector } } })),
  });

/** The connectors of a toolset whose source changed, where that waits for somebody's word. */
export function HeldChanges({ toolset: t }: { toolset: Toolset }) {
  return t.connectors.map((c) => <HeldChange key={c.name} slug={t.slug} connector={c.name} only={t.connectors.length === 1} />);
}

function HeldChange({ slug, connector, only }: { slug: string; connector: string; only: boolean }) {
  const queries = useQueryClient();
  const editor = useCan("editor");
  const schedule = useQuery(scheduleOf(slug, connector));
  const [phase, setPhase] = useState("");
  const [open, setOpen] = useState(false);
  const accept = useMutation({
    mutationFn: (change: string) => finish<Schemas["Refreshed"]>(api.POST("/v1/toolsets/{id}/changes/{change}/accept", { params: { path: { id: slug, change } }, body: {} }), setPhase),
    onSettled: () => Promise.all([queries.invalidateQueries({ queryKey: ["toolset", slug] }), queries.invalidateQueries({ queryKey: ["alerts"] })]),
  });
  const waiting = schedule.data?.waiting;
  if (accept.data) {
    return (
      <p role="status" className="rounded-lg border border-line bg-surface p-3 break-words">
        The change of {connector} is taken over. {outcome(accept.data)}
      </p>
    );
  }
  if (schedule.isError) return <ProblemNote error={schedule.error} retry={() => void schedule.refetch()} />;
  const id = waiting?.id;
  if (!waiting || !id) return null;
  return (
    <Card title={`A change of ${connector} waits`}>
      <div className="space-y-3">
        <p>
          Its source changed {plural(waiting.added + waiting.removed + waiting.changed, "tool")}, {waiting.breaking > 0 ? `${waiting.breaking} in a way that breaks callers` : "none in a way that breaks callers"}. What is live stays as it is
          until somebody accepts that.
        </p>
        {open ? <ChangeList changes={waiting} /> : null}
        {accept.isError ? <ProblemNote error={accept.error} /> : null}
        <div className="flex flex-wrap items-center gap-3">
          <Button onClick={() => setOpen(!open)} aria-expanded={open}>
            Show what changes
          </Button>
          {editor ? (
            <Button kind="primary" busy={accept.isPending} onClick={() => accept.mutate(id)}>
              Accept and deploy
            </Button>
          ) : (
            <span className="text-muted">Editors accept it.</span>
          )}
          <p role="status" className="text-muted">
            {accept.isPending ? phase : ""}
          </p>
        </div>
        <p className="text-muted">
          The same in a terminal: <code className="font-mono break-words text-text">sluice toolset accept {slug}{only ? "" : ` --connector ${connector}`}</code>
        </p>
      </div>
    </Card>
  );
}
