import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Button, buttonClass } from "../../components/button";
import { CodeBlock } from "../../components/copy";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Badge } from "../../components/status";
import { api, unwrap, unwrapTagged, type Schemas } from "../../lib/api";

type Script = Schemas["ToolsetScript"];

export const scriptsQuery = (slug: string) =>
  queryOptions({
    queryKey: ["toolset", slug, "scripts"],
    queryFn: () => unwrapTagged(api.GET("/v1/toolsets/{id}/scripts", { params: { path: { id: slug } } })),
  });

/** A script that is a tool. */
export function OneScript({ slug, script: s, editor, remove }: { slug: string; script: Script; editor: boolean; remove: () => void }) {
  const [open, setOpen] = useState(false);
  const whole = useQuery({
    queryKey: ["toolset", slug, "scripts", s.name],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/scripts/{name}", { params: { path: { id: slug, name: s.name } } })),
    enabled: open,
  });
  return (
    <Card title={s.name} actions={s.state === "ready" ? <Badge tone="ok">Ready</Badge> : <Badge tone="warn">Waiting</Badge>}>
      {s.title || s.description ? <p className="break-words">{s.title || s.description}</p> : null}
      <p className="mb-2 break-words text-muted">
        A script{s.calls.length > 0 ? ", which calls " : ", which calls nothing"}
        {s.calls.length > 0 ? <code className="font-mono">{s.calls.map((c) => c.name).join(", ")}</code> : null}
      </p>
      {s.missing?.length ? (
        <p className="mb-2 break-words text-warn">
          It is not served before these are there and enabled: <code className="font-mono">{s.missing.join(", ")}</code>
        </p>
      ) : null}
      <div className="mt-3 flex flex-wrap gap-2">
        {editor && s.state === "ready" ? (
          <Link to="/playground" search={{ toolset: slug, tool: s.name }} className={buttonClass("primary")} aria-label={`Test ${s.name}`}>
            Test
          </Link>
        ) : null}
        <Button onClick={() => setOpen(!open)} aria-expanded={open} aria-label={`Code of ${s.name}`}>
          Code
        </Button>
        {editor ? (
          <Button onClick={remove} aria-label={`Remove ${s.name}`}>
            Remove
          </Button>
        ) : null}
      </div>
      {open ? (
        <div className="mt-3">
          {whole.isError ? <ProblemNote error={whole.error} retry={() => void whole.refetch()} /> : null}
          {whole.data?.code ? <CodeBlock label={`the code of ${s.name}`} text={whole.data.code} /> : null}
        </div>
      ) : null}
    </Card>
  );
}
