import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, unwrap, unwrapTagged, type Schemas } from "../../lib/api";
import { MadeTool } from "./madetool";

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
    <MadeTool
      slug={slug}
      tool={s}
      editor={editor}
      remove={remove}
      text="Code"
      open={open}
      onOpen={setOpen}
      whole={{ error: whole.error, text: whole.data?.code, retry: () => void whole.refetch() }}
    >
      <p className="mb-2 break-words text-muted">
        A script{s.calls.length > 0 ? ", which calls " : ", which calls nothing"}
        {s.calls.length > 0 ? <code className="font-mono">{s.calls.map((c) => c.name).join(", ")}</code> : null}
      </p>
    </MadeTool>
  );
}
