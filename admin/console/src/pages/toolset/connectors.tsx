import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../../components/button";
import { Switch } from "../../components/choices";
import { Confirm } from "../../components/confirm";
import { CommandLine } from "../../components/copy";
import { Select, TextArea, TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { Card, Fact } from "../../components/page";
import { Badge } from "../../components/status";
import { api, unwrap, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { count, date, plural } from "../../lib/format";
import { mergePatch, objectOf } from "../../lib/object";
import { toolsetQuery } from "../../lib/queries";
import { useCan } from "../../lib/session";
import { AddConnector } from "./addconnector";
import { ProgramOutput } from "./programoutput";

type Connector = Schemas["ToolsetConnector"];

const policies = { pin: "Changes wait", warn: "Changes are taken over and reported", follow: "Changes are taken over" };

/** Where the tools of a toolset come from: APIs, MCP servers, and programs of the node. */
export function Connectors() {
  const { slug } = useParams({ from: "/toolsets/$slug" });
  const toolset = useQuery(toolsetQuery(slug));
  const editor = useCan("editor");
  const [adding, setAdding] = useState(false);
  const [edited, setEdited] = useState<Connector | null>(null);
  const [removed, setRemoved] = useState<Connector | null>(null);
  if (!toolset.data) return null; // The layout says why.
  const { data: t, etag } = toolset.data;
  return (
    <div className="space-y-5">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="text-muted">A toolset may have several. Each has its own address, credential and settings, and a tool whose name is taken gets the name of its connector in front.</p>
        {editor ? <Button onClick={() => setAdding(true)}>Add a connector</Button> : null}
      </div>
      {t.connectors.map((c) => (
        <ConnectorCard key={c.name} slug={slug} connector={c} only={t.connectors.length === 1} {...(editor ? { edit: () => setEdited(c), remove: () => setRemoved(c) } : {})} />
      ))}
      {editor ? null : <p className="text-muted">Adding and changing connectors needs the role editor.</p>}
      {adding ? <AddConnector slug={slug} close={() => setAdding(false)} /> : null}
      {edited ? <Edit key={edited.name} slug={slug} etag={etag} connector={edited} close={() => setEdited(null)} /> : null}
      <Confirm
        title={`Remove ${removed?.name ?? ""}`}
        of={removed}
        action="Remove"
        command={`sluice toolset connector ${slug} remove ${removed?.name}`}
        run={(c) => unwrap(api.DELETE("/v1/toolsets/{id}/connectors/{connector}", { params: { path: { id: slug, connector: c.name }, header: { "If-Match": etag } } }))}
        stale={["toolset", slug]}
        close={() => setRemoved(null)}
      >
        <p>
          Its {plural(removed?.toolCount ?? 0, "tool")}, what was edited of them and its credential go. What is live stays until the draft is deployed, but its tools answer with an error from now on where they
          need the credential.
        </p>
      </Confirm>
      <CommandLine command={`sluice toolset connector ${slug}`} />
    </div>
  );
}

/** Whether the connector is a program that the node starts. */
const isProgram = (c: Connector) => c.source.url?.startsWith("stdio://") ?? false;

function ConnectorCard({ slug, connector: c, only, edit, remove }: { slug: string; connector: Connector; only: boolean; edit?: () => void; remove?: () => void }) {
  const program = isProgram(c);
  const up = c.upstream;
  return (
    <Card
      title={c.name}
      actions={
        edit && remove ? (
          <span className="flex flex-wrap gap-2">
            <Button onClick={edit} aria-label={`Change ${c.name}`}>
              Change
            </Button>
            {only ? null : (
              <Button onClick={remove} aria-label={`Remove ${c.name}`}>
                Remove
              </Button>
            )}
          </span>
        ) : undefined
      }
    >
      <dl>
        <Fact name="Source">
          {c.source.title} {c.source.version}
          {program ? ", a program on this node" : c.source.kind === "mcp" ? ", an MCP server" : `, OpenAPI ${c.source.specVersion}`}
        </Fact>
        {program ? null : <Fact name={c.source.kind === "mcp" ? "Server" : "API"}><span className="break-all">{c.baseUrl || "no address yet"}</span></Fact>}
        {c.source.url && !program && c.source.kind !== "mcp" ? <Fact name="Specification"><span className="break-all">{c.source.url}</span></Fact> : null}
        <Fact name="Tools">{count(c.toolCount)}</Fact>
        {c.entry ? <Fact name="Catalog">{c.entry.id} {c.entry.version}</Fact> : null}
        {c.answers?.profile ? <Fact name="Answers">{c.answers.profile}</Fact> : null}
        {up ? (
          <>
            <Fact name="State">{up.fault ? <Badge tone="bad">Not reached</Badge> : up.quarantined ? <Badge tone="warn">A change waits</Badge> : up.checkedAt ? <Badge tone="ok">Reached</Badge> : <Badge tone="plain">Not looked at yet</Badge>}</Fact>
            {up.checkedAt ? <Fact name="Looked at">{date(up.checkedAt)}</Fact> : null}
            <Fact name="When it changes its tools">{policies[up.policy]}</Fact>
            {program || up.stateless ? <Fact name={program ? "Processes" : "Sessions"}>{up.stateless ? "One for all callers" : "One for each session"}</Fact> : null}
          </>
        ) : null}
      </dl>
      {up?.fault ? <p className="mt-2 break-words text-bad">{up.fault}</p> : null}
      {program ? <ProgramOutput slug={slug} connector={c.name} only={only} /> : null}
      <p className="mt-3 text-muted">
        <Link to="/toolsets/$slug/authentication" params={{ slug }} className="text-accent underline">
          Its credential
        </Link>
        {", and "}
        <Link to="/toolsets/$slug/settings" params={{ slug }} className="text-accent underline">
          reading it again
        </Link>
      </p>
    </Card>
  );
}

/** Changes a connector: where it is, what is made of its answers, what happens to its changes. */
function Edit({ slug, etag, connector: c, close }: { slug: string; etag: string; connector: Connector; close: () => void }) {
  const queries = useQueryClient();
  // What the dialog was opened with: a change of somebody else since then is refused.
  const [match] = useState(etag);
  const [stateless, setStateless] = useState(c.upstream?.stateless ?? false);
  const [fault, setFault] = useState("");
  const program = isProgram(c);
  const change = useMutation({
    mutationFn: (body: Schemas["PatchConnector"]) =>
      unwrap(
        api.PATCH("/v1/toolsets/{id}/connectors/{connector}", {
          params: { path: { id: slug, connector: c.name }, header: { "If-Match": match } },
          body,
          headers: { "Content-Type": "application/merge-patch+json" },
        }),
      ),
    onSuccess: close,
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  const submit = (text: (name: string) => string) => {
    const baseUrl = text("baseUrl");
    const profile = text("profile") as "" | "off" | "lossless" | "concise";
    const policy = text("policy") as "" | "pin" | "warn" | "follow";
    const fixed = objectOf(text("fixed"));
    if (!fixed) return setFault("Write a JSON object.");
    setFault("");
    const values = mergePatch((c.fixed ?? {}) as Record<string, unknown>, fixed);
    change.mutate({
      ...(Object.keys(values).length > 0 ? { fixed: values } : {}),
      ...(baseUrl && baseUrl !== c.baseUrl ? { baseUrl } : {}),
      ...(profile === (c.answers?.profile ?? "") ? {} : { answers: { profile } }),
      ...(policy && policy !== c.upstream?.policy ? { upstreamPolicy: policy } : {}),
      ...(c.upstream && stateless !== c.upstream.stateless ? { stateless } : {}),
    });
  };
  return (
    <FormDialog title={`Change ${c.name}`} open close={close} does={change} action="Save" command={`sluice toolset connector ${slug} set ${c.name} ${program ? "--profile lossless" : `--base-url ${shellWord(c.baseUrl || "https://api.example.com")}`}`} submit={submit}>
      {program ? null : <TextField label={c.source.kind === "mcp" ? "URL of the server" : "Address of the API"} name="baseUrl" type="url" autoComplete="off" spellCheck={false} defaultValue={c.baseUrl} hint="An address that the credential was not entered for waits until it is confirmed" />}
      <Select label="What is made of its answers" name="profile" defaultValue={c.answers?.profile ?? ""}>
        <option value="">As the toolset has it</option>
        <option value="off">As they come</option>
        <option value="lossless">Shorter, nothing left out</option>
        <option value="concise">Concise</option>
      </Select>
      <TextArea label="Fixed values" name="fixed" spellCheck={false} placeholder={'{"tenant_id": "acme"}'} defaultValue={c.fixed ? JSON.stringify(c.fixed, null, 2) : ""} error={fault || undefined} hint={`A JSON object of arguments that are sent with every call of its tools and that the model does not see. In a terminal: sluice toolset fix ${slug}`} />
      {c.upstream ? (
        <>
          <Select label="When it changes its tools" name="policy" defaultValue={c.upstream.policy}>
            <option value="pin">The change waits until it is accepted</option>
            <option value="warn">It is taken over and reported</option>
            <option value="follow">It is taken over</option>
          </Select>
          <Switch label={program ? "One process for all callers" : "One session for all callers"} note="Your word that it keeps nothing of a caller between calls" checked={stateless} onChecked={setStateless} />
        </>
      ) : null}
      <p className="text-muted">It changes the draft: what is live stays until the draft is deployed.</p>
    </FormDialog>
  );
}
