import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { CodeBlock } from "../../components/copy";
import { Select, TextArea, TextField } from "../../components/field";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { SIGNED_OUT } from "../../lib/api";
import { send as ask } from "../../lib/connection";
import { milliseconds } from "../../lib/format";
import { problemOf } from "../../lib/problem";
import { etagSource, resolve, sample, typeOf, type ApiDocument, type Operation, type Parameter, type Schema } from "./document";
import { bodyType, curl, entered, fillPath, keyOf, maxShown, missing, prepare, send, type Answered, type Prepared } from "./request";

interface Props {
  document: ApiDocument;
  operation: Operation;
}

/** Sends an operation as who is signed in; what changes something is asked about first. */
export function TryIt({ document, operation: o }: Props) {
  const types = Object.keys(o.requestBody?.content ?? {});
  const [type, setType] = useState(bodyType(o));
  const schema = o.requestBody?.content[type]?.schema;
  const multipart = type === "multipart/form-data";
  const [values, setValues] = useState<Record<string, string>>({});
  const [body, setBody] = useState(() => (schema ? JSON.stringify(sample(document, schema, { of: "request", required: true }), null, 2) : ""));
  const [files, setFiles] = useState<FormData>();
  const [fault, setFault] = useState("");
  const [asked, setAsked] = useState<Prepared | null>(null);
  const [answer, setAnswer] = useState<Answered | null>(null);
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);

  const enter = (key: string, value: string) => setValues((v) => ({ ...v, [key]: value }));
  const source = etagSource(document, o);
  const readTag = async () => {
    const response = await ask(new Request(fillPath(source ?? "", values)));
    if (!response.ok) throw problemOf(await response.json().catch(() => undefined), response);
    const tag = response.headers.get("ETag") ?? "";
    enter(ifMatch, tag);
    return tag;
  };
  /** Done when the answer begins: a stream may go on for long. */
  const run = (r: Prepared) => {
    running.current?.abort();
    const stop = new AbortController();
    running.current = stop;
    setAnswer(null);
    return new Promise<void>((done, failed) => {
      const tell = (a: Answered) => {
        if (a.status === 401 && !o.path.startsWith("/v1/session")) dispatchEvent(new Event(SIGNED_OUT));
        setAnswer(a);
        done();
      };
      send(r, stop.signal, tell).catch((e: unknown) => (stop.signal.aborted ? done() : failed(e)));
    });
  };
  // Without a confirmation: what only reads.
  const read = useMutation({ mutationFn: run });
  const tag = useMutation({ mutationFn: readTag });
  const prepared = prepare(o, values, multipart ? files : schema ? body : undefined);

  const submit = async (e: FormEvent) => {
    e.preventDefault();
    const gone = missing(o, values).filter((p) => !(source && p.name === "If-Match"));
    const wrong = gone.length > 0 ? `Enter ${gone.map((p) => p.name).join(", ")}.` : schema && !multipart ? faultOf(body, o.requestBody?.required ?? false) : "";
    setFault(wrong);
    if (wrong) return;
    if (o.method === "GET") return read.mutate(prepared);
    if (!source || values[ifMatch]) return setAsked(prepared);
    tag.mutate(undefined, { onSuccess: (etag) => setAsked(prepare(o, { ...values, [ifMatch]: etag }, multipart ? files : schema ? body : undefined)) });
  };

  return (
    <div className="min-w-0 space-y-5">
      <Card title="Try it">
        <form onSubmit={(e) => void submit(e)} noValidate aria-label="Try it" className="space-y-4">
          {entered(o).map((p) => (
            <Entry key={keyOf(p)} document={document} parameter={p} value={values[keyOf(p)] ?? ""} onValue={(value) => enter(keyOf(p), value)} />
          ))}
          {source ? (
            <div className="flex flex-wrap items-center gap-3">
              <Button busy={tag.isPending} onClick={() => tag.mutate()}>
                Read the ETag
              </Button>
              <p className="min-w-0 break-words text-muted">Of {source}. An empty If-Match is filled in with it before sending.</p>
            </div>
          ) : null}
          {tag.isError ? <ProblemNote error={tag.error} /> : null}
          {types.length > 1 ? (
            <Select label="Body as" value={type} onChange={(e) => setType(e.target.value)}>
              {types.map((t) => (
                <option key={t}>{t}</option>
              ))}
            </Select>
          ) : null}
          {multipart && schema ? <Parts document={document} schema={schema} onParts={setFiles} /> : null}
          {schema && !multipart ? (
            <TextArea
              label="Body"
              value={body}
              rows={Math.min(16, body.split("\n").length + 1)}
              spellCheck={false}
              onChange={(e) => setBody(e.target.value)}
              hint={`${typeOf(document, schema)}, as ${type}. It begins with what must be there.`}
            />
          ) : null}
          <p role="alert" className={fault ? "text-bad" : "sr-only"}>
            {fault}
          </p>
          <div className="flex flex-wrap items-center gap-3">
            <Button type="submit" kind="primary" busy={read.isPending}>
              {o.method === "GET" ? "Send" : "Send …"}
            </Button>
            {answer?.open || read.isPending ? <Button onClick={() => running.current?.abort()}>Stop</Button> : null}
            {o.method === "GET" ? null : <span className="text-muted">It changes something: you are asked first.</span>}
          </div>
        </form>
        {read.isError ? (
          <div className="mt-3">
            <ProblemNote error={read.error} />
          </div>
        ) : null}
      </Card>
      {answer ? <Answer answer={answer} /> : null}
      <Card title="The same in a terminal">
        <CodeBlock label="the request with curl" text={curl(prepared, location.origin)} />
        <p className="mt-2 text-muted">
          SLUICE_TOKEN is an <a href="/settings/tokens" className="text-accent underline">API token</a>.
        </p>
      </Card>
      <Confirm
        title={`${asked?.method ?? ""} ${asked?.path ?? ""}`}
        of={asked}
        action="Send it"
        run={run}
        stale={[]}
        close={() => setAsked(null)}
      >
        <p className="mb-3">
          It is done on this node, in your name. {o.summary}.
        </p>
        {asked?.headers["If-Match"] ? (
          <p className="mb-3">
            Only while the version is still <code className="font-mono break-all">{asked.headers["If-Match"]}</code>.
          </p>
        ) : null}
        {typeof asked?.body === "string" ? (
          <pre tabIndex={0} role="region" aria-label="the body that is sent" className="max-h-60 overflow-auto rounded-md border border-line bg-sunken p-2 font-mono text-[0.9rem]">
            {asked.body}
          </pre>
        ) : null}
      </Confirm>
    </div>
  );
}

const ifMatch = "header If-Match";

function faultOf(body: string, required: boolean): string {
  if (body.trim() === "") return required ? "Enter the body." : "";
  try {
    JSON.parse(body);
    return "";
  } catch (e) {
    return `The body is not JSON: ${e instanceof Error ? e.message : String(e)}`;
  }
}

function Entry({ document, parameter: p, value, onValue }: { document: ApiDocument; parameter: Parameter; value: string; onValue: (value: string) => void }) {
  const { schema } = resolve(document, p.schema);
  const label = p.required ? `${p.name} (required)` : p.name;
  if (schema.enum || schema.type === "boolean") {
    return (
      <Select label={label} value={value} onChange={(e) => onValue(e.target.value)}>
        <option value="">Not sent</option>
        {(schema.enum ?? [true, false]).map((v) => (
          <option key={String(v)}>{String(v)}</option>
        ))}
      </Select>
    );
  }
  const example = p.example ?? schema.examples?.[0];
  return (
    <TextField
      label={label}
      value={value}
      autoComplete="off"
      spellCheck={false}
      onChange={(e) => onValue(e.target.value)}
      placeholder={example === undefined ? undefined : String(example)}
      hint={schema.type === "array" ? "Several are separated by commas." : undefined}
    />
  );
}

/** The parts of a multipart form. */
function Parts({ document, schema, onParts }: { document: ApiDocument; schema: Schema; onParts: (parts: FormData) => void }) {
  const form = useRef<HTMLFieldSetElement>(null);
  const collect = () => {
    const parts = new FormData();
    for (const input of form.current?.querySelectorAll("input") ?? []) {
      if (input.type === "file") for (const file of input.files ?? []) parts.append(input.name, file);
      else if (input.value) parts.append(input.name, input.value);
    }
    onParts(parts);
  };
  return (
    <fieldset ref={form} onChange={collect} className="min-w-0 space-y-3">
      <legend className="mb-1 font-medium">Parts of the form</legend>
      {Object.entries(resolve(document, schema).schema.properties ?? {}).map(([name, p]) => {
        const file = (p.items ?? p).format === "binary";
        return <TextField key={name} label={schema.required?.includes(name) ? `${name} (required)` : name} name={name} type={file ? "file" : "text"} multiple={Boolean(p.items)} hint={p.description} />;
      })}
    </fieldset>
  );
}

function Answer({ answer: a }: { answer: Answered }) {
  return (
    <Card title="Answer">
      <p role="status" className={`font-semibold ${a.status < 400 ? "text-ok" : "text-bad"}`}>
        HTTP {a.status} · {milliseconds(a.milliseconds)}
        {a.open ? " · still coming" : ""}
      </p>
      {a.headers.length > 0 ? (
        <ul className="my-2">
          {a.headers.map(([name, value]) => (
            <li key={name} className="font-mono text-[0.86rem] break-all text-muted">
              {name}: {value}
            </li>
          ))}
        </ul>
      ) : null}
      {a.text ? (
        <pre tabIndex={0} role="region" aria-label="Body of the answer" className="max-h-96 overflow-auto rounded-md border border-line bg-sunken p-2 font-mono text-[0.9rem]">
          {a.text}
        </pre>
      ) : (
        <p className="text-muted">No body.</p>
      )}
      {a.cut ? <p className="mt-2 text-muted">These are the first {maxShown / 1024} KiB. curl, below, gets the whole.</p> : null}
    </Card>
  );
}

