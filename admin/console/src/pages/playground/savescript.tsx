import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Button, buttonClass } from "../../components/button";
import { TextArea, TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { api, unwrap, type Schemas } from "../../lib/api";

/** The values of lines NAME=VALUE: JSON, or else a text. */
export function parametersOf(text: string): Schemas["Parameter"][] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => {
      const at = line.indexOf("=");
      const value = at < 0 ? "" : line.slice(at + 1).trim();
      let read: unknown = value;
      try {
        read = JSON.parse(value);
      } catch {
        // A text without quotes.
      }
      return { name: (at < 0 ? line : line.slice(0, at)).trim(), value: read };
    });
}

/** Makes a tool of a script that was run. */
export function SaveScript({ slug, code, etag }: { slug: string; code: string; etag: string }) {
  const [open, setOpen] = useState(false);
  const queries = useQueryClient();
  const save = useMutation({
    mutationFn: (body: Schemas["SaveScript"]) => unwrap(api.POST("/v1/toolsets/{id}/scripts", { params: { path: { id: slug }, header: { "If-Match": etag } }, body })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  return (
    <>
      <Button onClick={() => setOpen(true)}>Save as a tool</Button>
      <FormDialog
        title="Save the script as a tool"
        open={open}
        close={() => setOpen(false)}
        does={save}
        action="Save"
        command={`sluice toolset script save ${slug} NAME --from FILE --description TEXT`}
        submit={(text) => save.mutate({ name: text("name"), description: text("description"), code, parameters: parametersOf(text("parameters")) })}
        made={
          save.data ? (
            <>
              <p>
                <code className="font-mono">{save.data.name}</code> is in the draft. A passed test deploys it.
              </p>
              <p className="mt-3">
                <Link to="/playground" search={{ toolset: slug, tool: save.data.name }} className={buttonClass("primary")}>
                  Test it
                </Link>
              </p>
            </>
          ) : undefined
        }
      >
        <TextField label="Name" name="name" required maxLength={64} autoComplete="off" placeholder="open_orders" />
        <TextArea label="Description" name="description" required hint="Agents choose the tool by it." />
        <TextArea
          label="Values that become arguments"
          name="parameters"
          spellCheck={false}
          placeholder={'state="open"\nlimit=20'}
          hint="One NAME=VALUE a line, each a value that stands in the script: it becomes the default. None: the script is always the same."
        />
      </FormDialog>
    </>
  );
}
