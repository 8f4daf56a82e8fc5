import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { Select, TextArea, TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { api, unwrap, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { mergePatch, objectOf } from "../../lib/object";
import { toolsetQuery } from "../../lib/queries";

type Hint = keyof Schemas["Annotations"];

const hints: [Hint, string][] = [
  ["readOnlyHint", "It changes nothing"],
  ["destructiveHint", "It may destroy something"],
  ["idempotentHint", "Calling it again changes nothing more"],
  ["openWorldHint", "It reaches things outside of the server"],
];

/** What clients are told of a tool's arguments and effects, where what was generated is wrong. */
export function ToolArguments({ slug, tool }: { slug: string; tool: Schemas["Tool"] }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button kind="quiet" onClick={() => setOpen(true)} aria-label={`Arguments and effects of ${tool.name}`}>
        Arguments
      </Button>
      {open ? <Form slug={slug} tool={tool} close={() => setOpen(false)} /> : null}
    </>
  );
}

function Form({ slug, tool, close }: { slug: string; tool: Schemas["Tool"]; close: () => void }) {
  const queries = useQueryClient();
  const etag = useQuery(toolsetQuery(slug)).data?.etag ?? "";
  // What the dialog was opened with: a change of somebody else since then is refused.
  const [match] = useState(etag);
  const [faults, setFaults] = useState<{ fixed?: string; texts?: string }>({});
  const listed = (tool.arguments ?? []).join(" ");
  const fixed = tool.fixed ? JSON.stringify(tool.fixed, null, 2) : "";
  const texts = tool.argumentTexts ? JSON.stringify(tool.argumentTexts, null, 2) : "";
  const change = useMutation({
    mutationFn: (body: Schemas["PatchTool"]) =>
      unwrap(
        api.PATCH("/v1/toolsets/{id}/tools/{name}", {
          params: { path: { id: slug, name: tool.name }, header: { "If-Match": match } },
          body,
          headers: { "Content-Type": "application/merge-patch+json" },
        }),
      ),
    onSuccess: close,
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  const submit = (text: (name: string) => string) => {
    const values = objectOf(text("fixed"));
    const described = objectOf(text("texts"));
    const bad = described && Object.values(described).some((value) => typeof value !== "string");
    setFaults({ ...(values ? {} : { fixed: "Write a JSON object." }), ...(!described || bad ? { texts: "Write a JSON object of texts." } : {}) });
    if (!values || !described || bad) return;
    const patch = mergePatch((tool.fixed ?? {}) as Record<string, unknown>, values);
    const words = mergePatch((tool.argumentTexts ?? {}) as Record<string, unknown>, described);
    const said = hints.filter(([hint]) => text(hint) !== String(tool.annotations[hint]));
    change.mutate({
      ...(text("arguments") === listed ? {} : { arguments: text("arguments").split(/[\s,]+/).filter(Boolean) }),
      ...(Object.keys(patch).length > 0 ? { fixed: patch } : {}),
      ...(Object.keys(words).length > 0 ? { argumentTexts: words as Record<string, string> } : {}),
      ...(said.length > 0 ? { annotations: Object.fromEntries(said.map(([hint]) => [hint, text(hint) === "true"])) } : {}),
    });
  };
  return (
    <FormDialog title={`Arguments and effects of ${tool.name}`} open close={close} does={change} action="Save in the draft" command={`sluice toolset tools ${slug} arguments ${shellWord(tool.name)} NAME…`} submit={submit}>
      <TextField label="Arguments that clients list" name="arguments" autoComplete="off" spellCheck={false} placeholder="all" defaultValue={listed} hint="Besides the required ones, with blanks between; body.member is a member of the body. Left empty, all. The definition costs fewer tokens then, and nothing is refused." />
      <TextArea label="Fixed values" name="fixed" spellCheck={false} placeholder={'{"tenant_id": "acme"}'} defaultValue={fixed} error={faults.fixed} hint="A JSON object of arguments that are sent with every call and that the model does not see. No place for secrets. In a terminal: sluice toolset fix" />
      <TextArea label="Descriptions of arguments" name="texts" spellCheck={false} placeholder={'{"state": "open, closed or all"}'} defaultValue={texts} error={faults.texts} hint="A JSON object of argument and text, instead of what the specification says. In a terminal: sluice toolset tools … describe … --argument" />
      {hints.map(([hint, label]) => (
        <Select key={hint} label={label} name={hint} defaultValue={String(tool.annotations[hint])}>
          <option value="true">Yes</option>
          <option value="false">No</option>
        </Select>
      ))}
      <p className="text-muted">
        Clients are told what it does, and many ask before what may destroy. <Button busy={change.isPending} onClick={() => change.mutate({ annotations: {} })}>Use what was generated</Button>
      </p>
    </FormDialog>
  );
}
