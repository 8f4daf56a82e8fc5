import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../../components/button";
import { CodeBlock, CommandLine } from "../../components/copy";
import { Dialog } from "../../components/dialog";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { api, unwrap, unwrapTagged, type Schemas } from "../../lib/api";
import { plural } from "../../lib/format";
import { Problem } from "../../lib/problem";
import { useCan } from "../../lib/session";
import { AddWorkflows } from "./addworkflows";
import { MadeTool } from "./madetool";
import { OneScript, scriptsQuery } from "./scripts";

type Workflow = Schemas["ToolsetWorkflow"];

const workflowsQuery = (slug: string) =>
  queryOptions({
    queryKey: ["toolset", slug, "workflows"],
    queryFn: () => unwrapTagged(api.GET("/v1/toolsets/{id}/workflows", { params: { path: { id: slug } } })),
  });

export function Workflows() {
  const { slug } = useParams({ from: "/toolsets/$slug" });
  const workflows = useQuery(workflowsQuery(slug));
  const editor = useCan("editor");
  const [adding, setAdding] = useState(false);
  const scripts = useQuery(scriptsQuery(slug));
  const [removing, setRemoving] = useState<Removed | null>(null);
  if (workflows.isError) return <ProblemNote error={workflows.error} retry={() => void workflows.refetch()} />;
  if (workflows.isPending) return <Skeleton />;
  const { items } = workflows.data.data;
  const saved = scripts.data?.data.items ?? [];
  return (
    <div className="space-y-5">
      {editor && !adding ? (
        <div className="flex justify-end">
          <Button kind={items.length > 0 ? "plain" : "primary"} onClick={() => setAdding(true)}>
            Add a document
          </Button>
        </div>
      ) : null}
      {editor ? null : <p className="text-muted">Adding and removing them needs the role editor.</p>}
      {adding ? <AddWorkflows slug={slug} etag={workflows.data.etag} have={items.map((w) => w.name)} close={() => setAdding(false)} /> : null}
      {items.length === 0 && saved.length === 0 && !adding ? (
        <Card title="No workflows">
          <p className="text-muted">A workflow is one tool that makes several calls, as an Arazzo document describes them: agents make one call instead of many. A script that ran in the playground, in code mode, can become one, too.</p>
        </Card>
      ) : null}
      {items.map((w) => (
        <One key={w.name} slug={slug} workflow={w} editor={editor} remove={() => setRemoving({ kind: "workflow", name: w.name })} />
      ))}
      {scripts.isError ? <ProblemNote error={scripts.error} retry={() => void scripts.refetch()} /> : null}
      {saved.map((s) => (
        <OneScript key={s.name} slug={slug} script={s} editor={editor} remove={() => setRemoving({ kind: "script", name: s.name })} />
      ))}
      <Remove slug={slug} etag={workflows.data.etag} tool={removing} close={() => setRemoving(null)} />
      <CommandLine command={`sluice toolset workflow list ${slug}`} />
    </div>
  );
}

function One({ slug, workflow: w, editor, remove }: { slug: string; workflow: Workflow; editor: boolean; remove: () => void }) {
  const [open, setOpen] = useState(false);
  const whole = useQuery({
    queryKey: ["toolset", slug, "workflows", w.name],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/workflows/{name}", { params: { path: { id: slug, name: w.name } } })),
    enabled: open,
  });
  return (
    <MadeTool
      slug={slug}
      tool={w}
      editor={editor}
      remove={remove}
      text="Document"
      open={open}
      onOpen={setOpen}
      whole={{ error: whole.error, text: whole.data?.document, retry: () => void whole.refetch() }}
      plan={<CodeBlock label={`the plan of ${w.name}`} text={w.plan} />}
    >
      <p className="mb-2 text-muted">
        {plural(w.steps, "step")}
        {w.workflowId !== w.name ? `, ${w.workflowId} in its document` : ""}
      </p>
    </MadeTool>
  );
}

/** A tool that may be removed. */
interface Removed {
  kind: "workflow" | "script";
  name: string;
}

function Remove({ slug, etag, tool, close }: { slug: string; etag: string; tool: Removed | null; close: () => void }) {
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: async ({ kind, name }: Removed) => {
      const at = { params: { path: { id: slug, name }, header: { "If-Match": etag } } };
      if (kind === "script") await unwrap(api.DELETE("/v1/toolsets/{id}/scripts/{name}", at));
      else await unwrap(api.DELETE("/v1/toolsets/{id}/workflows/{name}", at));
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["toolset", slug] });
      close();
    },
  });
  const again = () => {
    remove.reset();
    void queries.invalidateQueries({ queryKey: ["toolset", slug] });
  };
  const shut = () => {
    remove.reset();
    close();
  };
  return (
    <Dialog title={`Remove ${tool?.name ?? ""}`} open={tool !== null} onClose={shut}>
      <p>The tool leaves the draft. What is live has it until the draft is deployed.</p>
      {remove.isError ? (
        <div className="mt-3">
          <ProblemNote error={remove.error} {...(remove.error instanceof Problem && remove.error.status === 412 ? { retry: again } : {})} />
        </div>
      ) : null}
      <p className="mt-3 text-muted">
        The same in a terminal:{" "}
        <code className="font-mono break-all text-text">
          sluice toolset {tool?.kind} remove {slug} {tool?.name}
        </code>
      </p>
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={shut}>Cancel</Button>
        <Button kind="danger" busy={remove.isPending} onClick={() => tool && remove.mutate(tool)}>
          Remove
        </Button>
      </div>
    </Dialog>
  );
}
