import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { Button } from "../../components/button";
import { ChangeList } from "../../components/changes";
import { Switch } from "../../components/choices";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, type Schemas } from "../../lib/api";
import { sentence } from "../../lib/format";
import { finish } from "../../lib/jobs";
import { useCan } from "../../lib/session";

type Toolset = Schemas["ToolsetDetail"];
type Refreshed = Schemas["Refreshed"];

/** The connectors of a toolset whose entry of the catalog is newer, or gone. */
export function EntryUpdates({ toolset }: { toolset: Toolset }) {
  return toolset.connectors.map((c) => (c.entry ? <EntryUpdate key={c.name} toolset={toolset} connector={c.name} entry={c.entry} /> : null));
}

function EntryUpdate({ toolset: t, connector, entry }: { toolset: Toolset; connector: string; entry: Schemas["Followed"] }) {
  const queries = useQueryClient();
  const editor = useCan("editor");
  const note = useRef<HTMLParagraphElement>(null);
  const [breaking, setBreaking] = useState(false);
  const [phase, setPhase] = useState("");
  const ask = (body: Schemas["UpdateRequest"]) =>
    finish<Refreshed>(api.POST("/v1/toolsets/{id}/catalog-update", { params: { path: { id: t.slug } }, body: { connector, ...body } }), setPhase);
  const look = useMutation({ mutationFn: () => ask({ dryRun: true }) });
  const take = useMutation({
    mutationFn: () => ask(breaking ? { acceptBreaking: true } : {}),
    onSettled: () => Promise.all([queries.invalidateQueries({ queryKey: ["toolset", t.slug] }), queries.invalidateQueries({ queryKey: ["catalog"] })]),
  });
  const taken = take.data !== undefined && !entry.update;
  useEffect(() => {
    if (taken) note.current?.focus({ preventScroll: true }); // The button is gone.
  }, [taken]);
  if (taken && take.data) {
    return (
      <p ref={note} tabIndex={-1} role="status" className="rounded-lg border border-line bg-surface p-3 break-words">
        {connector} has the version {entry.version} of its entry. {outcome(take.data)}
      </p>
    );
  }
  if (entry.gone) {
    return (
      <Card title="Entry of the catalog">
        <p>The catalog no longer has {entry.id}, which {connector} was made of. The toolset stays as it is.</p>
      </Card>
    );
  }
  if (!entry.update) return null;
  const changes = look.data?.changes;
  return (
    <Card title="A newer version of its entry">
      <div className="space-y-3">
        <p>
          The catalog has{" "}
          <Link to="/catalog/$entry" params={{ entry: entry.id }} className="text-accent underline">
            {entry.id}
          </Link>{" "}
          in the version <code className="font-mono">{entry.update}</code>; {connector} has <code className="font-mono">{entry.version}</code>. What you edited
          stays in any case.
        </p>
        {changes ? <ChangeList changes={changes} /> : look.data ? <p>It changes nothing of what this toolset has.</p> : null}
        {look.isError ? <ProblemNote error={look.error} /> : null}
        {take.isError ? <ProblemNote error={take.error} /> : null}
        {editor && changes && changes.breaking > 0 ? (
          <Switch
            label="Deploy breaking changes too"
            note="Agents that call what is gone or renamed get an error. Otherwise the whole waits in the draft."
            checked={breaking}
            onChecked={setBreaking}
          />
        ) : null}
        {editor ? (
          <div className="flex flex-wrap items-center gap-3">
            <Button busy={look.isPending} onClick={() => look.mutate()}>
              Show what changes
            </Button>
            {look.data ? (
              <Button kind="primary" busy={take.isPending} onClick={() => take.mutate()}>
                Take it over
              </Button>
            ) : null}
            <p role="status" className="text-muted">
              {take.isPending ? phase : ""}
            </p>
          </div>
        ) : (
          <p className="text-muted">Editors take it over.</p>
        )}
        <p className="text-muted">
          The same in a terminal: <code className="font-mono break-words text-text">sluice catalog update {t.slug}{t.connectors.length > 1 ? ` --connector ${connector}` : ""}{changes ? (breaking ? " --accept-breaking" : "") : " --dry-run"}</code>
        </p>
      </div>
    </Card>
  );
}

export const outcome = (taken: Refreshed) => (taken.deployed ? "It is tested and live." : taken.waiting ? sentence(`It waits in the draft: ${taken.waiting}`) : "It is in the draft.");
