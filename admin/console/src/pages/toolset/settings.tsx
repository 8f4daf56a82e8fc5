import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../../components/button";
import { Choices, Switch } from "../../components/choices";
import { CommandLine } from "../../components/copy";
import { TextArea, TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { Card } from "../../components/page";
import { SaveForm } from "../../components/saveform";
import { api, unwrap, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { useEdits } from "../../lib/edits";
import { wholeNumber } from "../../lib/number";
import { toolsetQuery } from "../../lib/queries";
import { useCan } from "../../lib/session";
import { usePatch } from "./patch";
import { Capture, Labels, Schedule } from "./placement";
import { Refresh } from "./refresh";

type Toolset = Schemas["ToolsetDetail"];

/** What the form is about; numbers as they are written, empty for the default. */
interface Fields {
  name: string;
  description: string;
  instructions: string;
  baseUrl: string;
  policy: "pin" | "warn" | "follow";
  stateless: boolean;
  timeoutMs: string;
  maxResponseBytes: string;
  structured: boolean;
  redact: boolean;
  keepHidden: boolean;
}

const names: Record<keyof Fields, string> = {
  name: "Name",
  description: "Description",
  instructions: "Instructions for the model",
  baseUrl: "Where calls are sent",
  policy: "When the MCP server changes its tools",
  stateless: "All callers share one session",
  timeoutMs: "Milliseconds that a call may take",
  maxResponseBytes: "Bytes of an answer of the API",
  structured: "Structured output",
  redact: "No answer rather than an unfiltered one",
  keepHidden: "Leave invisible characters in answers",
};

const written = (n: number | undefined) => (n ? String(n) : "");

const fieldsOf = (t: Toolset): Fields => ({
  name: t.name,
  description: t.description ?? "",
  instructions: t.instructions ?? "",
  baseUrl: t.baseUrl,
  policy: t.upstream?.policy ?? "pin",
  stateless: t.upstream?.stateless ?? false,
  timeoutMs: written(t.answers?.timeoutMs),
  maxResponseBytes: written(t.answers?.maxResponseBytes),
  structured: t.answers?.structured ?? false,
  redact: t.answers?.redact ?? false,
  keepHidden: t.answers?.keepHidden ?? false,
});

function patchOf({ policy, timeoutMs, maxResponseBytes, structured, redact, keepHidden, ...rest }: Partial<Fields>): Schemas["PatchToolset"] {
  const answers: Schemas["PatchAnswers"] = {
    ...(timeoutMs === undefined ? {} : { timeoutMs: Number(timeoutMs) }),
    ...(maxResponseBytes === undefined ? {} : { maxResponseBytes: Number(maxResponseBytes) }),
    ...(structured === undefined ? {} : { structured }),
    ...(redact === undefined ? {} : { redact }),
    ...(keepHidden === undefined ? {} : { keepHidden }),
  };
  return { ...rest, ...(policy === undefined ? {} : { upstreamPolicy: policy }), ...(Object.keys(answers).length > 0 ? { answers } : {}) };
}

const MIB = 1 << 20;

/** The command that makes the changes, or the first of several. */
function commandOf(slug: string, c: Partial<Fields>): string {
  const flags = [
    c.timeoutMs === undefined ? "" : `--time-limit ${Number(c.timeoutMs)}ms`,
    c.maxResponseBytes === undefined ? "" : `--max-response ${Math.ceil(Number(c.maxResponseBytes) / MIB)}`,
    ...(["structured", "redact"] as const).map((key) => (c[key] === undefined ? "" : `--${key}=${c[key]}`)),
    c.keepHidden === undefined ? "" : `--keep-hidden=${c.keepHidden}`,
  ].filter((flag) => flag !== "");
  if (flags.length > 0) return `sluice toolset optimize ${slug} ${flags.join(" ")}`;
  const texts = [
    ...(["name", "description", "instructions"] as const).map((key) => (c[key] === undefined ? "" : `--${key} ${shellWord(c[key])}`)),
    c.baseUrl === undefined ? "" : `--base-url ${shellWord(c.baseUrl)}`,
  ].filter((flag) => flag !== "");
  if (texts.length > 0) return `sluice toolset set ${slug} ${texts.join(" ")}`;
  if (c.policy !== undefined || c.stateless !== undefined) return `sluice toolset upstream ${slug}${c.policy ? ` ${c.policy}` : ""}${c.stateless === undefined ? "" : ` --stateless=${c.stateless}`}`;
  return `sluice toolset get ${slug}`;
}

export function ToolsetSettings() {
  const { slug } = useParams({ from: "/toolsets/$slug" });
  const toolset = useQuery(toolsetQuery(slug));
  if (!toolset.data) return null; // The layout says why.
  return <Form key={slug} toolset={toolset.data.data} etag={toolset.data.etag} />;
}

function Form({ toolset: t, etag }: { toolset: Toolset; etag: string }) {
  const editor = useCan("editor");
  const stored = fieldsOf(t);
  const edits = useEdits(stored, etag);
  const { values, enter, changed } = edits;
  const save = usePatch(t.slug, edits, patchOf);
  const bad = {
    name: values.name.trim() === "" ? "Enter a name." : undefined,
    timeoutMs: values.timeoutMs === "0" ? undefined : wholeNumber(values.timeoutMs, 100, 3_600_000),
    maxResponseBytes: values.maxResponseBytes === "0" ? undefined : wholeNumber(values.maxResponseBytes, 1024, 64 * MIB),
  };
  const single = t.connectors.length === 1;
  return (
    <div className="space-y-5">
      <SaveForm
        label="Settings"
        legend="Settings of the toolset"
        stored={stored}
        edits={edits}
        names={names}
        bad={bad}
        save={save}
        before="A change makes a new draft: what is live stays until the draft is tested."
        after="Saved in the draft."
      >
        <div className="grid items-start gap-5 lg:grid-cols-2">
          <Card title="What it is">
            <div className="space-y-4">
              <TextField label={names.name} maxLength={200} error={bad.name} value={values.name} onChange={(e) => enter({ name: e.target.value })} />
              <TextArea label={names.description} maxLength={16_384} hint="For people who look for a toolset" value={values.description} onChange={(e) => enter({ description: e.target.value })} />
              <TextArea
                label={names.instructions}
                rows={4}
                maxLength={32_768}
                hint="Applications give this text to their model when they connect"
                value={values.instructions}
                onChange={(e) => enter({ instructions: e.target.value })}
              />
              {single ? (
                <TextField
                  label={names.baseUrl}
                  type="url"
                  spellCheck={false}
                  hint={t.servers.length > 1 ? `The specification also has ${t.servers.map((s) => s.url).filter((u) => u !== values.baseUrl).slice(0, 3).join(", ")}.` : undefined}
                  value={values.baseUrl}
                  onChange={(e) => enter({ baseUrl: e.target.value.trim() })}
                />
              ) : null}
            </div>
          </Card>
          <Card title="Limits and policy of answers">
            <div className="space-y-4">
              <TextField
                label={names.timeoutMs}
                inputMode="numeric"
                placeholder="30000"
                hint="100 to an hour. Each report of progress of an MCP server begins it anew."
                error={bad.timeoutMs}
                value={values.timeoutMs}
                onChange={(e) => enter({ timeoutMs: e.target.value.trim() })}
              />
              <TextField
                label={names.maxResponseBytes}
                inputMode="numeric"
                placeholder={String(16 * MIB)}
                hint="1,024 to 64 MiB, before and after decompression"
                error={bad.maxResponseBytes}
                value={values.maxResponseBytes}
                onChange={(e) => enter({ maxResponseBytes: e.target.value.trim() })}
              />
              <div>
                <Switch label={names.structured} note="Output schemas and structured content are sent." checked={values.structured} onChecked={(structured) => enter({ structured })} />
                <Switch
                  label={names.redact}
                  note="What its settings cannot be applied to is withheld, errors of the API included."
                  checked={values.redact}
                  onChecked={(redact) => enter({ redact })}
                />
                <Switch
                  label={names.keepHidden}
                  note="They are removed otherwise: people do not see them, and models obey them."
                  checked={values.keepHidden}
                  onChecked={(keepHidden) => enter({ keepHidden })}
                />
              </div>
            </div>
          </Card>
        </div>
        {single && t.source.kind === "mcp" ? (
          <Card title="The MCP server">
            <Choices
              label={names.policy}
              value={values.policy}
              onValue={(policy) => enter({ policy })}
              choices={[
                { value: "pin", name: "Wait", note: "The change waits until it is accepted" },
                { value: "warn", name: "Take additions", note: "What is added is deployed, and everything else waits" },
                { value: "follow", name: "Follow", note: "It is deployed, unless it has new text that is written for a model" },
              ]}
            />
            <div className="mt-3">
              <Switch label={names.stateless} note="Your word that the server keeps nothing of a caller between calls." checked={values.stateless} onChecked={(stateless) => enter({ stateless })} />
            </div>
          </Card>
        ) : null}
      </SaveForm>
      <div className="grid items-start gap-5 lg:grid-cols-[repeat(auto-fit,minmax(18rem,1fr))]">
        <Capture slug={t.slug} />
        <Labels slug={t.slug} etag={etag} />
        {t.connectors.map((c) => (c.source.url && c.source.kind !== "mcp" ? <Schedule key={c.name} slug={t.slug} connector={c.name} several={!single} /> : null))}
        <Refresh toolset={t} />
      </div>
      {editor ? <Delete toolset={t} etag={etag} /> : null}
      <CommandLine command={commandOf(t.slug, changed)} />
    </div>
  );
}

/** The end of a toolset, which is asked for by its name. */
function Delete({ toolset: t, etag }: { toolset: Toolset; etag: string }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const remove = useMutation({
    mutationFn: () => unwrap(api.DELETE("/v1/toolsets/{id}", { params: { path: { id: t.slug }, header: { "If-Match": etag } } })),
    onSuccess: async () => {
      await navigate({ to: "/toolsets" });
      queries.removeQueries({ queryKey: ["toolset", t.slug] });
      await queries.invalidateQueries();
    },
    // Somebody may have changed it: the state that is there now is asked for before the next try.
    onError: () => queries.invalidateQueries({ queryKey: ["toolset", t.slug] }),
  });
  const shut = () => {
    setTyped("");
    setOpen(false);
  };
  return (
    <Card title="Delete the toolset">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="min-w-0 flex-1 basis-60">Its URL stops answering, and its revisions, credentials and access tokens are removed. It cannot be undone.</p>
        <Button kind="danger" onClick={() => setOpen(true)}>
          Delete it
        </Button>
      </div>
      <FormDialog
        title={`Delete ${t.name}`}
        open={open}
        close={shut}
        does={remove}
        action="Delete it"
        danger
        disabled={typed !== t.slug}
        command={`sluice toolset delete ${t.slug}`}
        submit={() => typed === t.slug && remove.mutate()}
      >
        <TextField label={`Write ${t.slug} to delete it`} autoComplete="off" spellCheck={false} value={typed} onChange={(e) => setTyped(e.target.value)} />
      </FormDialog>
    </Card>
  );
}
