import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useId, useState } from "react";
import { Choices } from "../../components/choices";
import { fileClass, TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { api, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { plural } from "../../lib/format";
import { finish } from "../../lib/jobs";
import { toolsetQuery } from "../../lib/queries";

type Kind = "url" | "file" | "mcp";

/** Adds an API or an MCP server to the draft of a toolset; it is neither tested nor deployed by that. */
export function AddConnector({ slug, close }: { slug: string; close: () => void }) {
  const queries = useQueryClient();
  const id = useId();
  const etag = useQuery(toolsetQuery(slug)).data?.etag ?? "";
  const [kind, setKind] = useState<Kind>("url");
  const [file, setFile] = useState<File>();
  const [phase, setPhase] = useState("");
  const [fault, setFault] = useState<{ url?: string; file?: string }>({});
  const add = useMutation({
    mutationFn: async (in_: { url: string; name: string; baseUrl: string; tools: string }) => {
      const source: Schemas["CreateSource"] = kind === "mcp" ? { mcp: { url: in_.url } } : { openapi: kind === "url" ? { url: in_.url } : { document: (await file?.text()) ?? "", fileName: file?.name ?? "" } };
      const body: Schemas["AddConnector"] = {
        source,
        deploy: { skip: true },
        ...(in_.name ? { name: in_.name } : {}),
        ...(in_.baseUrl ? { baseUrl: in_.baseUrl } : {}),
        ...(in_.tools ? { tools: in_.tools.split(/[\s,]+/) } : {}),
      };
      return finish<Schemas["AddedConnector"]>(api.POST("/v1/toolsets/{id}/connectors", { params: { path: { id: slug }, header: { "If-Match": etag } }, body }), setPhase);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  const made = add.data;
  return (
    <FormDialog
      title={made ? `${made.connector.name} is added` : "Add a connector"}
      open
      close={close}
      does={add}
      action="Add it"
      command={`sluice toolset connector ${slug} add ${kind === "file" ? shellWord(file?.name ?? "orders.yaml") : kind === "mcp" ? "https://mcp.example.com/mcp --mcp" : "https://example.com/openapi.json"} --no-deploy`}
      noValidate
      submit={(text) => {
        const url = text("url");
        if (kind === "file" && !file) return setFault({ file: "Choose a file." });
        if (kind !== "file" && !/^https?:\/\/./i.test(url)) return setFault({ url: "Enter an http or https URL." });
        setFault({});
        setPhase("");
        add.mutate({ url, name: text("name"), baseUrl: kind === "mcp" ? "" : text("baseUrl"), tools: text("tools") });
      }}
      made={
        made ? (
          <div className="space-y-2">
            <p>
              {made.created ? "" : "The toolset had it; it was read again. "}
              {plural(made.connector.toolCount, "tool")} of {made.connector.source.title}.
              {made.renamed.length > 0 ? ` ${plural(made.renamed.length, "name")} had to get ${made.connector.name} in front.` : ""}
            </p>
            {made.granted?.length ? <p className="text-warn">The toolset may now call {made.granted.join(", ")}, because you entered it.</p> : null}
            <p>
              {made.connector.authenticationMethods.length > 0 ? (
                <>
                  It asks for a credential: enter it on{" "}
                  <Link to="/toolsets/$slug/authentication" params={{ slug }} className="text-accent underline">
                    Authentication
                  </Link>
                  , then test and deploy the draft.
                </>
              ) : (
                "Test and deploy the draft to make its tools live."
              )}
            </p>
          </div>
        ) : null
      }
    >
      <Choices
        label="What it is"
        value={kind}
        onValue={(next) => {
          setKind(next);
          setFault({});
        }}
        choices={[
          { value: "url", name: "A specification at a URL" },
          { value: "file", name: "A specification in a file" },
          { value: "mcp", name: "An MCP server" },
        ]}
      />
      {kind === "file" ? (
        <div>
          <label htmlFor={id} className="mb-1 block font-medium">
            Specification file
          </label>
          <input id={id} type="file" accept=".json,.yaml,.yml" className={fileClass} aria-invalid={fault.file ? true : undefined} aria-describedby={`${id}-note`} onChange={(e) => setFile(e.target.files?.[0])} />
          <p id={`${id}-note`} className={`mt-1 ${fault.file ? "text-bad" : "text-muted"}`}>
            {fault.file ?? "JSON or YAML"}
          </p>
        </div>
      ) : (
        <TextField label={kind === "mcp" ? "URL of the MCP server" : "URL of the specification"} name="url" type="url" autoComplete="off" spellCheck={false} placeholder={kind === "mcp" ? "https://mcp.example.com/mcp" : "https://example.com/openapi.json"} error={fault.url} />
      )}
      {kind === "mcp" ? null : <TextField label="Address of the API" name="baseUrl" type="url" autoComplete="off" spellCheck={false} hint="Left empty, the first server of the specification" />}
      <TextField label="Name" name="name" autoComplete="off" spellCheck={false} maxLength={63} hint="In the toolset; left empty, it is made of the title" />
      <TextField label="Tools" name="tools" autoComplete="off" spellCheck={false} placeholder="search_* !delete_*" hint="Names or globs, ! leaves out; left empty, all" />
      <p role="status" className="text-muted">
        {add.isPending ? phase || "Reading it" : ""}
      </p>
    </FormDialog>
  );
}
