import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { SaveProblem } from "../../components/conflict";
import { Dialog } from "../../components/dialog";
import { TextArea, TextField } from "../../components/field";
import { api, unwrap, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { useEdits } from "../../lib/edits";
import { faultAt } from "../../lib/problem";
import { toolsetQuery } from "../../lib/queries";

interface Texts {
  name: string;
  description: string;
}

/** Another name or description of a tool than the generated one. */
export function EditTool({ slug, tool }: { slug: string; tool: Schemas["Tool"] }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button kind="quiet" onClick={() => setOpen(true)} aria-label={`Edit ${tool.name}`}>
        Edit
      </Button>
      <Dialog title={`Name and description of ${tool.name}`} open={open} onClose={() => setOpen(false)}>
        <Form slug={slug} tool={tool} close={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function Form({ slug, tool, close }: { slug: string; tool: Schemas["Tool"]; close: () => void }) {
  const queries = useQueryClient();
  const toolset = useQuery(toolsetQuery(slug));
  const stored: Texts = { name: tool.name, description: tool.description };
  const edits = useEdits(stored, toolset.data?.etag ?? "");
  const { name, description } = edits.values;
  const save = useMutation({
    mutationFn: (match: string) =>
      unwrap(
        api.PATCH("/v1/toolsets/{id}/tools/{name}", {
          params: { path: { id: slug, name: tool.name }, header: { "If-Match": match } },
          body: edits.changed,
          headers: { "Content-Type": "application/merge-patch+json" },
        }),
      ),
    onSuccess: close,
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (edits.dirty) save.mutate(edits.etag);
  };
  const described = edits.changed.description !== undefined && edits.changed.name === undefined;
  return (
    <form onSubmit={submit} noValidate className="space-y-4">
      <TextField
        label="Name"
        autoComplete="off"
        spellCheck={false}
        maxLength={64}
        hint={`Letters, digits, _ and -, at most 64. Left empty, it is ${tool.originalName}, as generated.`}
        error={faultAt(save.error, "/name")}
        value={name}
        onChange={(e) => edits.enter({ name: e.target.value.trim() })}
      />
      <TextArea label="Description" rows={6} hint="Agents choose a tool by it." error={faultAt(save.error, "/description")} value={description} onChange={(e) => edits.enter({ description: e.target.value })} />
      {save.isError ? <SaveProblem error={save.error} stored={stored} edits={edits} names={{ name: "Name", description: "Description" }} reset={save.reset} save={() => save.mutate(edits.newest)} /> : null}
      <p className="text-muted">
        The same in a terminal:{" "}
        <code className="font-mono break-all text-text">
          {described ? `sluice toolset tools ${slug} describe ${tool.name} ${shellWord(description)}` : `sluice toolset tools ${slug} rename ${tool.name} ${shellWord(name || tool.originalName)}`}
        </code>
      </p>
      <div className="flex justify-end gap-2">
        <Button onClick={close}>Cancel</Button>
        <Button kind="primary" type="submit" busy={save.isPending} disabled={!edits.dirty}>
          Save in the draft
        </Button>
      </div>
    </form>
  );
}
