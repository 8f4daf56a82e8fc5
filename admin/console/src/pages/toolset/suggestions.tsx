import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, unwrap, type Schemas } from "../../lib/api";
import { capital, count, plural } from "../../lib/format";
import { toolsetQuery } from "../../lib/queries";

type Suggestion = Schemas["Suggestion"];

/** So many are shown at once; the next ones follow when these are decided. */
const SHOWN = 20;

/** The API takes so many changes of tools at once. */
const BATCH = 4096;

/** Better names and descriptions, by rules: each is taken or left. They are looked for at once where they are asked for. */
export function ToolSuggestions({ slug, asked: at = false }: { slug: string; asked?: boolean }) {
  const [asked, setAsked] = useState(at);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const queries = useQueryClient();
  const toolset = useQuery(toolsetQuery(slug));
  const found = useQuery({
    queryKey: ["toolset", slug, "suggestions"],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/suggestions", { params: { path: { id: slug } } })),
    enabled: asked,
  });
  const ask = useMutation({
    mutationFn: () => unwrap(api.POST("/v1/toolsets/{id}/suggestions", { params: { path: { id: slug } }, body: {} })),
    onSuccess: (answer) => queries.setQueryData(["toolset", slug, "suggestions"], answer),
  });
  const take = useMutation({
    mutationFn: (taken: Suggestion[]) =>
      unwrap(
        api.POST("/v1/toolsets/{id}/tools/batch-update", {
          params: { path: { id: slug }, header: { "If-Match": toolset.data?.etag ?? "" } },
          body: { updates: taken.map((s) => ({ tool: s.tool, ...(s.name ? { name: s.name } : {}), ...(s.description ? { description: s.description } : {}) })) },
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  if (!asked) {
    return (
      <div className="mb-4">
        <Button onClick={() => setAsked(true)}>Suggest names and descriptions</Button>
      </div>
    );
  }
  const open = (found.data?.items ?? []).filter((s) => !left.has(s.tool));
  return (
    <div className="mb-4">
      <Card
        title="Suggested names and descriptions"
        actions={
          open.length > 1 ? (
            <Button busy={take.isPending} onClick={() => take.mutate(open.slice(0, BATCH))}>
              Take all {count(Math.min(open.length, BATCH))}
            </Button>
          ) : null
        }
      >
        <p role="status" className={open.length > 0 ? "text-muted" : ""}>
          {found.isPending ? "Looking at the tools" : found.isError ? "" : open.length > 0 ? `For ${plural(open.length, "tool")}. What is taken is a change of the draft.` : "The names and descriptions are good, or were decided."}
        </p>
        {found.isError ? <ProblemNote error={found.error} retry={() => void found.refetch()} /> : null}
        {found.data?.model ? (
          <p className="my-2 flex flex-wrap items-center gap-3">
            <Button busy={ask.isPending} onClick={() => ask.mutate()}>
              Ask {found.data.model}
            </Button>
            <span className="text-muted">Names, descriptions and arguments of the tools are sent to the model of this node&apos;s operator: about {plural(found.data.tokens, "token")}.</span>
          </p>
        ) : null}
        {ask.isError ? <ProblemNote error={ask.error} /> : null}
        {take.isError ? <ProblemNote error={take.error} /> : null}
        <p className="text-muted">
          The same in a terminal: <code className="font-mono break-words text-text">sluice toolset suggest {slug}</code>
        </p>
        <ul>
          {open.slice(0, SHOWN).map((s) => (
            <li key={s.tool} className="flex flex-wrap items-start justify-between gap-3 border-b border-line py-3 last:border-0">
              <div className="min-w-0 flex-1 basis-64 break-words">
                <p className="font-mono font-medium break-all">
                  {s.name ? (
                    <>
                      <del className="text-muted">{s.tool}</del> <ins className="no-underline">{s.name}</ins>
                    </>
                  ) : (
                    s.tool
                  )}
                </p>
                {s.description ? (
                  <>
                    {s.presentDescription ? <del className="block text-muted">{s.presentDescription}</del> : null}
                    <ins className="block no-underline">{s.description}</ins>
                  </>
                ) : null}
                <p className="text-muted">
                  {capital(s.reason)}: {count(s.tokens)} → {plural(s.tokensAfter, "token")}
                </p>
              </div>
              <div className="flex gap-2">
                <Button busy={take.isPending} onClick={() => take.mutate([s])} aria-label={`Take it for ${s.tool}`}>
                  Take it
                </Button>
                <Button kind="quiet" onClick={() => setLeft(new Set([...left, s.tool]))} aria-label={`Leave ${s.tool} as it is`}>
                  Leave
                </Button>
              </div>
            </li>
          ))}
        </ul>
        {open.length > SHOWN ? <p className="mt-2 text-muted">{count(open.length - SHOWN)} more follow.</p> : null}
      </Card>
    </div>
  );
}
