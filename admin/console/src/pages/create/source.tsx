import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState, type DragEvent, type FormEvent } from "react";
import { Button } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { TextField, fileClass } from "../../components/field";
import { Card, Page } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { finish } from "../../lib/jobs";
import { asProblem } from "../../lib/problem";
import { DocumentView } from "./document";
import { keepDraft, readDraft, type Source as Entered } from "./draft";
import { Steps } from "./steps";
import { Ways } from "./ways";
import { ofEditors } from "./editors";

const kinds = [
  { id: "file", name: "File" },
  { id: "paste", name: "Paste" },
  { id: "url", name: "URL" },
] as const;

/** Says where the document is, for the API. */
const openapi = (s: Entered): Schemas["OpenAPISource"] =>
  s.kind === "url" ? { url: s.url.trim() } : { document: s.text, fileName: s.kind === "file" ? s.fileName : "the pasted document" };

const command = (s: Entered) =>
  `sluice add ${s.kind === "url" ? shellWord(s.url.trim() || "https://example.com/openapi.json") : s.kind === "paste" ? "-" : shellWord(s.fileName || "openapi.yaml")}`;

/** The first step: the document becomes a draft on the node, neither tested nor deployed. */
export const Source = ofEditors(SourceStep);

function SourceStep() {
  const draft = readDraft();
  const [source, setSource] = useState(draft.source);
  const [slug, setSlug] = useState(draft.slug);
  const [missing, setMissing] = useState("");
  const [phase, setPhase] = useState("");
  const navigate = useNavigate();
  const queries = useQueryClient();

  const create = useMutation({
    mutationFn: () =>
      finish<Schemas["CreatedToolset"]>(
        api.POST("/v1/toolsets", { body: { source: { openapi: openapi(source) }, profile: "concise", deploy: { skip: true } } }),
        setPhase,
      ),
    onSuccess: async (made) => {
      keepDraft({ source, slug: made.slug, token: made.accessToken?.token ?? "", refreshed: !made.created });
      void queries.invalidateQueries({ queryKey: ["toolsets"] });
      await navigate({ to: "/toolsets/new/$slug/review", params: { slug: made.slug } });
    },
  });

  const change = (part: Partial<Entered>) => {
    const next = { ...source, ...part };
    setSource(next);
    setMissing("");
    setSlug("");
    create.reset();
    keepDraft({ source: next, slug: "", token: "" });
  };
  const read = async (file: File | undefined) => {
    if (file) change({ kind: "file", fileName: file.name, text: await file.text() });
  };
  const drop = (e: DragEvent) => {
    e.preventDefault();
    void read(e.dataTransfer.files[0]);
  };
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (slug) return void navigate({ to: "/toolsets/new/$slug/review", params: { slug } });
    if (!(source.kind === "url" ? source.url : source.text).trim()) return setMissing(source.kind === "url" ? "Enter the URL." : "Choose a file, or paste its text.");
    setPhase("");
    create.mutate();
  };

  const problem = create.isError ? asProblem(create.error) : undefined;
  const line = problem?.faults.find((f) => f.line)?.line ?? 0;
  return (
    <Page title="Create a toolset" lead="From an OpenAPI or Swagger specification. Nothing is called before you test it.">
      <Ways />
      <Steps slug={slug} />
      <form onSubmit={submit} noValidate className="space-y-5">
        <Card title="OpenAPI specification">
          <fieldset className="mb-4">
            <legend className="mb-1 font-medium">Where it is</legend>
            <div className="flex flex-wrap gap-x-5 gap-y-1">
              {kinds.map((k) => (
                <label key={k.id} className="flex min-h-8 items-center gap-2">
                  <input type="radio" name="kind" className="size-4 accent-(--accent)" checked={source.kind === k.id} onChange={() => change({ kind: k.id })} />
                  {k.name}
                </label>
              ))}
            </div>
          </fieldset>
          {source.kind === "file" ? <FileField name={source.fileName} error={missing} onDrop={drop} onFile={(f) => void read(f)} /> : null}
          {source.kind === "paste" ? <Paste text={source.text} error={missing} onText={(text) => change({ text })} /> : null}
          {source.kind === "url" ? (
            <TextField
              label="URL of the specification"
              type="url"
              autoComplete="off"
              placeholder="https://example.com/openapi.json"
              hint="The node fetches it; references to other documents of the same origin are followed."
              error={missing || undefined}
              value={source.url}
              onChange={(e) => change({ url: e.target.value })}
            />
          ) : null}
        </Card>
        {problem ? <ProblemNote error={problem} /> : null}
        {problem?.code === "blocked_address" ? <PrivateAddress /> : null}
        {problem && line > 0 && source.kind !== "url" ? <DocumentView text={source.text} line={line} /> : null}
        <div className="flex flex-wrap items-center justify-end gap-3">
          <p role="status" className="text-muted">
            {create.isPending ? phase || "Reading the specification" : slug ? `The draft ${slug} was made of it.` : ""}
          </p>
          <Button type="submit" kind="primary" busy={create.isPending}>
            Continue
          </Button>
        </div>
      </form>
      <CommandLine command={`${command(source)} --no-deploy`} />
    </Page>
  );
}

/** Why a node does not call the machines of its own network. */
const PrivateAddress = () => (
  <p className="rounded-lg border border-line bg-warn-soft px-4 py-2.5 text-warn">
    Addresses of a private network, and of this machine, are refused: a toolset could read what only the node may. An operator allows all of them with{" "}
    <code className="font-mono">--allow-private-upstreams</code>. Or upload the file instead.
  </p>
);

function FileField({ name, error, onDrop, onFile }: { name: string; error: string; onDrop: (e: DragEvent) => void; onFile: (f: File | undefined) => void }) {
  const id = useId();
  return (
    <div onDragOver={(e) => e.preventDefault()} onDrop={onDrop} className="rounded-md border border-dashed border-line-strong p-4">
      <label htmlFor={id} className="mb-1 block font-medium">
        Specification file
      </label>
      <input
        id={id}
        type="file"
        accept=".json,.yaml,.yml"
        className={fileClass}
        aria-invalid={error ? true : undefined}
        aria-describedby={`${id}-note`}
        onChange={(e) => onFile(e.target.files?.[0])}
      />
      <p id={`${id}-note`} className={`mt-1 break-words ${error ? "text-bad" : "text-muted"}`}>
        {error || (name ? `${name} is read.` : "JSON or YAML: choose it, or drop it here.")}
      </p>
    </div>
  );
}

function Paste({ text, error, onText }: { text: string; error: string; onText: (text: string) => void }) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className="mb-1 block font-medium">
        Text of the specification
      </label>
      <textarea
        id={id}
        rows={12}
        spellCheck={false}
        className="w-full rounded-md border border-line-strong bg-surface px-2.5 py-1 font-mono text-[0.9rem] aria-invalid:border-bad"
        aria-invalid={error ? true : undefined}
        aria-describedby={error ? `${id}-note` : undefined}
        value={text}
        onChange={(e) => onText(e.target.value)}
      />
      {error ? (
        <p id={`${id}-note`} className="mt-1 text-bad">
          {error}
        </p>
      ) : null}
    </div>
  );
}
