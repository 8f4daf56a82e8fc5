import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { ChangeList } from "../../components/changes";
import { Switch } from "../../components/choices";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, type Schemas } from "../../lib/api";
import { finish } from "../../lib/jobs";
import { useCan } from "../../lib/session";
import { outcome } from "./entryupdate";

type Refreshed = Schemas["Refreshed"];

/** Reads the sources of the connectors again at once: a document that was uploaded has none. */
export function Refresh({ toolset: t }: { toolset: Schemas["ToolsetDetail"] }) {
  return t.connectors.map((c) => (c.source.url || c.source.kind === "mcp" ? <RefreshOne key={c.name} slug={t.slug} connector={c.name} mcp={c.source.kind === "mcp"} several={t.connectors.length > 1} /> : null));
}

function RefreshOne({ slug, connector, mcp, several }: { slug: string; connector: string; mcp: boolean; several: boolean }) {
  const queries = useQueryClient();
  const editor = useCan("editor");
  const [breaking, setBreaking] = useState(false);
  const [phase, setPhase] = useState("");
  const read = useMutation({
    mutationFn: (dryRun: boolean) => {
      const accept = breaking && !dryRun ? (mcp ? { accept: true } : { acceptBreaking: true }) : {};
      return finish<Refreshed>(api.POST("/v1/toolsets/{id}/refresh", { params: { path: { id: slug } }, body: { connector, ...accept, ...(dryRun ? { dryRun } : {}) } }), setPhase);
    },
    onSettled: () => Promise.all([queries.invalidateQueries({ queryKey: ["toolset", slug] }), queries.invalidateQueries({ queryKey: ["alerts"] })]),
  });
  const changes = read.data?.changes;
  const said = !read.data ? "" : !changes ? "It is as it was." : read.data.dryRun ? "Nothing was changed." : changes.quarantined ? "What is live stays as it is; the change waits until it is accepted." : outcome(read.data);
  return (
    <Card title={several ? `Source of ${connector}` : "Source"}>
      <div className="space-y-3">
        <p className="text-muted">
          {mcp ? "The tools of the MCP server are read again. What happens to changes, its policy says." : "The specification is read again. What breaks nothing is tested and deployed; the rest waits in the draft. What you edited stays."}
        </p>
        {changes ? <ChangeList changes={changes} /> : null}
        {read.isError ? <ProblemNote error={read.error} /> : null}
        {editor && changes && read.data?.dryRun && (mcp || changes.breaking > 0) ? (
          <Switch
            label={mcp ? "Take it over, whatever the policy" : "Deploy breaking changes too"}
            note="Agents that call what is gone or renamed get an error."
            checked={breaking}
            onChecked={setBreaking}
          />
        ) : null}
        {editor ? (
          <div className="flex flex-wrap items-center gap-3">
            <Button busy={read.isPending} onClick={() => read.mutate(true)}>
              Show what would change
            </Button>
            <Button busy={read.isPending} onClick={() => read.mutate(false)}>
              Refresh now
            </Button>
          </div>
        ) : (
          <p className="text-muted">Editors refresh it.</p>
        )}
        <p role="status" className="break-words">
          {read.isPending ? phase || "Reading it" : said}
        </p>
        <p className="text-muted">
          The same in a terminal:{" "}
          <code className="font-mono break-words text-text">
            sluice toolset refresh {slug}
            {several ? ` --connector ${connector}` : ""}
            {breaking ? (mcp ? " --accept" : " --accept-breaking") : ""}
          </code>
        </p>
      </div>
    </Card>
  );
}
