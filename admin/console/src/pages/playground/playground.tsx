import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { CommandLine, Copy } from "../../components/copy";
import { Select, TextArea } from "../../components/field";
import { Card, Page } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Badge } from "../../components/status";
import { api, unwrap, type Schemas } from "../../lib/api";
import { capital, count, milliseconds, saved } from "../../lib/format";
import { finish } from "../../lib/jobs";
import { toolsetQuery, toolsetsQuery, toolsQuery } from "../../lib/queries";
import { can } from "../../lib/roles";
import { sessionQuery } from "../../lib/session";
import { CallsField } from "./calls";
import { CodeField, placesOf } from "./code";
import { argumentsOf, asSchema, examplesOf, readArguments, SchemaForm, shownValue, type Arguments, type OwnField } from "./form";
import { forget, past, remember, type Past } from "./history";
import type { Edit } from "./mask";
import { ToolPicker } from "./picker";
import { SaveScript } from "./savescript";
import { Shaping } from "./shaping";
import { AgentView, Answer, asCall, Plugins, Request, Timing } from "./views";

const tabs = ["Answer", "Before / after", "Timing", "Plugins", "Request", "Agent view"] as const;

interface Shown {
  toolset?: string;
  tool?: string;
  args?: Arguments;
}

/** Shows something else; of a function it is what follows from what was chosen last, which the page may not show yet. */
type Go = (next: Shown | ((now: Shown) => Shown)) => void;

export function Playground() {
  const search = useSearch({ from: "/playground" });
  const navigate = useNavigate();
  const toolsets = useInfiniteQuery(toolsetsQuery);
  const { hasNextPage, isFetchingNextPage, fetchNextPage, isError } = toolsets;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, isError, fetchNextPage]);
  const known = toolsets.data?.pages.flatMap((p) => p.items) ?? [];
  const slug = search.toolset ?? known[0]?.slug ?? "";
  const go: Go = (next) => void navigate({ to: "/playground", search: next, replace: true });
  return (
    <Page title="Playground" lead="Call a tool of a draft for real, see what an agent gets of the answer, and change it.">
      {toolsets.isError ? <ProblemNote error={toolsets.error} retry={() => void toolsets.refetch()} /> : null}
      {toolsets.isSuccess && known.length === 0 && !slug ? <p>There is no toolset yet.</p> : null}
      {slug ? (
        <Bench
          slug={slug}
          slugs={[...new Set([slug, ...known.map((t) => t.slug)])]}
          tool={search.tool ?? ""}
          given={search.args}
          go={go}
        />
      ) : null}
    </Page>
  );
}

interface BenchProps {
  slug: string;
  slugs: string[];
  tool: string;
  given: Arguments | undefined;
  go: Go;
}

function Bench({ slug, slugs, tool, given, go }: BenchProps) {
  const toolset = useQuery(toolsetQuery(slug));
  const tools = useInfiniteQuery(toolsQuery(slug));
  const { hasNextPage, isFetchingNextPage, fetchNextPage, isError } = tools;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, isError, fetchNextPage]);
  const added = useQuery({
    queryKey: ["toolset", slug, "added-tools"],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/added-tools", { params: { path: { id: slug } } })),
  });
  const own = added.data?.items.map((t) => t.name) ?? [];
  const names = tools.data?.pages.flatMap((p) => p.items).filter((t) => t.enabled).map((t) => t.name) ?? [];
  const detail = useQuery({
    queryKey: ["toolset", slug, "tools", tool],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/tools/{name}", { params: { path: { id: slug, name: tool } } })),
    enabled: tool !== "",
  });
  const error = toolset.error ?? tools.error ?? added.error ?? detail.error;
  const choose = (name: string) => go((now) => ({ toolset: now.toolset ?? slug, tool: name }));
  return (
    <>
      <Card>
        <div className="grid gap-3 md:grid-cols-2">
          <Select label="Toolset" value={slug} onChange={(e) => go({ toolset: e.target.value })}>
            {slugs.map((s) => (
              <option key={s}>{s}</option>
            ))}
          </Select>
          <ToolPicker names={[...own, ...names]} loading={tools.isPending || added.isPending || hasNextPage} value={tool} onChoose={choose} />
        </div>
        {own.length > 0 ? (
          <p className="mt-3 flex flex-wrap items-center gap-x-1 text-muted">
            Sluice adds:
            {own.map((name) => (
              <button
                key={name}
                type="button"
                aria-pressed={name === tool}
                className="min-h-6 rounded px-1 font-mono text-[0.9rem] text-accent underline hover:bg-accent-soft aria-pressed:font-semibold"
                onClick={() => choose(name)}
              >
                {name}
              </button>
            ))}
          </p>
        ) : null}
      </Card>
      <div className="mt-5 space-y-5">
        {error ? <ProblemNote error={error} /> : null}
        {detail.data && toolset.data ? (
          <Call key={`${slug} ${tool}`} slug={slug} tool={detail.data} toolset={toolset.data.data} etag={toolset.data.etag} names={names} loading={tools.isPending || hasNextPage} given={given} go={go} />
        ) : (
          <CommandLine command={`sluice toolset tools ${slug}`} />
        )}
      </div>
    </>
  );
}

interface CallProps {
  slug: string;
  tool: Schemas["Tool"];
  toolset: Schemas["ToolsetDetail"] | Schemas["Toolset"];
  etag: string;
  /** The tools that can be called in a batch. */
  names: string[];
  loading: boolean;
  given: Arguments | undefined;
  go: BenchProps["go"];
}

const fieldsOf = (args: Arguments) => Object.fromEntries(Object.entries(args).map(([name, value]) => [name, shownValue(value)]));

function Call({ slug, tool, toolset, etag, names, loading, given, go }: CallProps) {
  const schema = asSchema(tool.inputSchema);
  const [fields, setFields] = useState(() => fieldsOf(given ?? {}));
  const [opened, setOpened] = useState(0); // how often fields were filled by something else than typing
  const [raw, setRaw] = useState<string>();
  const [faults, setFaults] = useState<Record<string, string>>({});
  const [tab, setTab] = useState<(typeof tabs)[number]>("Answer");
  const [deploys, setDeploys] = useState(true);
  const [history, setHistory] = useState(past);
  const session = useQuery(sessionQuery);
  const queries = useQueryClient();
  const editor = can(session.data?.role, "editor");
  const unpublished = toolset.status === "draft" || toolset.changed;

  const run = useMutation({
    mutationFn: ({ args, deploy }: { args: Arguments; deploy: boolean }) =>
      finish<Schemas["TestAnswer"]>(
        api.POST("/v1/toolsets/{id}/test", {
          params: { path: { id: slug } },
          headers: { Prefer: "wait=60" },
          body: { tool: tool.name, arguments: args, keepDraft: !deploy, inspect: true },
        }),
      ),
    onSuccess: (done, { args }) => {
      setHistory(remember({ toolset: slug, tool: tool.name, args, passed: done.passed, ms: done.durationSeconds * 1000, before: done.tokens.received, after: done.tokens.result }));
      go({ toolset: slug, tool: tool.name, ...(Object.keys(args).length > 0 ? { args } : {}) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  const edit = useMutation({
    mutationFn: (change: Edit) =>
      unwrap(
        api.PATCH("/v1/toolsets/{id}/tools/{name}", {
          params: { path: { id: slug, name: tool.name }, header: { "If-Match": etag } },
          body: { answers: change },
          headers: { "Content-Type": "application/merge-patch+json" },
        }),
      ),
    onSuccess: () => {
      // A call that may change something is made again by a person only.
      if (tool.annotations.readOnlyHint && run.variables) run.mutate({ ...run.variables, deploy: deploys });
      else void queries.invalidateQueries({ queryKey: ["toolset", slug] });
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (raw !== undefined) {
      const args = readArguments(raw);
      if (!args) return setFaults({ "": "Write a JSON object." });
      setFaults({});
      return run.mutate({ args, deploy: unpublished && deploys });
    }
    const { values, faults: found } = argumentsOf(schema, fields);
    setFaults(found);
    if (Object.keys(found).length === 0) run.mutate({ args: values, deploy: unpublished && deploys });
  };
  const toggle = () => {
    setFaults({});
    if (raw === undefined) return setRaw(JSON.stringify(argumentsOf(schema, fields).values, null, 2));
    const args = readArguments(raw);
    if (!args) return setFaults({ "": "Write a JSON object." });
    setFields(fieldsOf(args));
    setOpened(opened + 1);
    setRaw(undefined);
  };
  const open = (p: Past) => {
    if (p.toolset !== slug || p.tool !== tool.name) return go({ toolset: p.toolset, tool: p.tool, args: p.args });
    setRaw(undefined);
    setFields(fieldsOf(p.args));
    setOpened(opened + 1);
  };
  const added = tool.operation.method === "SLUICE";
  const script = added && schema.properties?.code !== undefined;
  // What a run says of a script holds as long as that is the one in the field.
  const places = script && run.data?.inspection?.isError && run.variables?.args.code === fields.code ? placesOf(run.data.answer ?? "") : [];
  const ownField: OwnField = (name, label, hint, error) => {
    const set = (text: string) => setFields((f) => ({ ...f, [name]: text }));
    const said = error ? { error } : {};
    if (name === "code") return <CodeField label={label} hint={hint ?? "Ctrl and Enter run it."} {...said} places={places} value={fields[name] ?? ""} onChange={set} />;
    if (name === "calls") return <CallsField key={opened} names={names} loading={loading} {...said} value={fields[name] ?? ""} onChange={set} />;
    return undefined;
  };
  const shown: readonly (typeof tabs)[number][] = added ? tabs.filter((name) => name !== "Before / after") : tabs;
  const args = run.variables?.args ?? {};
  const examples = Object.fromEntries(Object.entries(examplesOf(schema)).filter(([name]) => !fields[name]));
  // A script wants the whole width, and its answer below it.
  const earlier = <History runs={history} onOpen={open} onForget={() => setHistory(forget())} />;
  return (
    <div className={`grid gap-5 ${script ? "" : "xl:grid-cols-[22rem_minmax(0,1fr)]"}`}>
      <div className="min-w-0 space-y-5">
        <form onSubmit={submit} noValidate>
          <Card
            title="Arguments"
            actions={
              <Button kind="quiet" onClick={toggle}>
                {raw === undefined ? "As JSON" : "As a form"}
              </Button>
            }
          >
            <div className="grid gap-3">
              {raw === undefined ? (
                <SchemaForm {...(added ? { own: ownField } : {})} schema={schema} fields={fields} faults={faults} onChange={(name, text) => setFields((f) => ({ ...f, [name]: text }))} />
              ) : (
                <TextArea label="Arguments, as JSON" rows={8} spellCheck={false} error={faults[""]} value={raw} onChange={(e) => setRaw(e.target.value)} />
              )}
            </div>
            {tool.annotations.readOnlyHint ? null : <p className="mt-3 text-warn">This tool may change something: it is called for real.</p>}
            <div className="mt-4 flex flex-wrap items-center gap-3">
              <Button type="submit" kind="primary" busy={run.isPending || edit.isPending} disabled={!editor}>
                Run
              </Button>
              {raw === undefined && Object.keys(examples).length > 0 ? (
                <Button kind="quiet" onClick={() => setFields((f) => ({ ...f, ...examples }))}>
                  Fill in examples
                </Button>
              ) : null}
              <label className="flex min-h-6 items-center gap-2">
                <input type="checkbox" className="size-4 accent-(--accent)" checked={deploys} onChange={(e) => setDeploys(e.target.checked)} />
                Deploy a changed draft when it passes
              </label>
              {editor ? null : <p className="text-muted">Calling needs the role editor.</p>}
            </div>
          </Card>
        </form>
        {script ? null : earlier}
      </div>
      <div className="min-w-0 space-y-4">
        {run.isError ? <ProblemNote error={run.error} /> : null}
        <StatusBar run={run.data} busy={run.isPending || edit.isPending} changed={unpublished} />
        {script && editor && run.data?.passed && typeof args.code === "string" ? <SaveScript slug={slug} code={args.code} etag={etag} /> : null}
        <div role="tablist" aria-label="What happened" className="flex flex-wrap gap-x-5 border-b border-line">
          {shown.map((name) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`tab-${shown.indexOf(name)}`}
              aria-selected={tab === name}
              aria-controls="playground-panel"
              tabIndex={tab === name ? 0 : -1}
              className={`min-h-8 ${tab === name ? "border-b-2 border-accent font-medium" : "text-muted hover:text-text"}`}
              onClick={() => setTab(name)}
              onKeyDown={(e) => {
                const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
                if (step === 0) return;
                const next = shown[(shown.indexOf(name) + step + shown.length) % shown.length] ?? name;
                setTab(next);
                document.getElementById(`tab-${shown.indexOf(next)}`)?.focus();
              }}
            >
              {name}
            </button>
          ))}
        </div>
        <div role="tabpanel" id="playground-panel" aria-label={tab} tabIndex={0} className="min-w-0">
          {tab === "Agent view" ? (
            <AgentView slug={slug} tool={tool} />
          ) : !run.data ? (
            <p className="text-muted">Run the tool to see this.</p>
          ) : tab === "Answer" ? (
            <Answer run={run.data} />
          ) : !run.data.inspection ? (
            <p className="text-muted">The call took longer than a minute, so nothing more was kept of it. Run it again.</p>
          ) : tab === "Timing" ? (
            <Timing of={run.data.inspection} />
          ) : tab === "Plugins" ? (
            <Plugins of={run.data.inspection} slug={slug} tool={tool.name} args={args} />
          ) : tab === "Request" ? (
            <Request of={run.data.inspection} toolset={toolset} tool={tool} args={args} />
          ) : (
            <Shaping
              of={run.data.inspection}
              tool={tool}
              profile={tool.answers?.profile || toolset.profile}
              editor={editor}
              busy={run.isPending || edit.isPending}
              error={edit.error}
              onEdit={(change) => edit.mutate(change)}
              onReload={() => {
                edit.reset();
                void queries.invalidateQueries({ queryKey: ["toolset", slug] });
              }}
            />
          )}
        </div>
        <p className="flex flex-wrap items-center gap-2 text-muted">
          The address of this page opens this tool with these arguments for another member.
          <Copy text={location.href} label="Copy the link" />
        </p>
        {script ? earlier : null}
        <CommandLine command={asCall(slug, tool.name, args)} />
      </div>
    </div>
  );
}

function StatusBar({ run, busy, changed }: { run: Schemas["TestAnswer"] | undefined; busy: boolean; changed: boolean }) {
  return (
    <div role="status" className="flex min-h-8 flex-wrap items-center gap-x-4 gap-y-1">
      {busy ? <span className="text-muted">Calling the API</span> : null}
      {run || busy ? null : <span className="text-muted">Not run yet</span>}
      {run && !busy ? (
        <>
          {run.passed ? <Badge tone="ok">{run.deployed ? "Passed, deployed" : "Passed"}</Badge> : <Badge tone="bad">Failed</Badge>}
          {run.noTest ? <span>No API was called, so this is not a test of the draft</span> : null}
          {run.upstreamStatus ? <span>HTTP {run.upstreamStatus}</span> : null}
          <span className="tabular-nums">{milliseconds(run.durationSeconds * 1000)}</span>
          {run.tokens.received > 0 ? (
            <span className="tabular-nums" title="o200k_base">
              {count(run.tokens.received)} → {count(run.tokens.result)} tokens ({saved(run.tokens.received, run.tokens.result)})
            </span>
          ) : null}
          {run.reason ? <span className="w-full break-words">{capital(run.reason)}</span> : null}
        </>
      ) : null}
      {changed && !busy ? <Badge tone="plain">Draft changed: a passed run deploys it</Badge> : null}
    </div>
  );
}

function History({ runs, onOpen, onForget }: { runs: Past[]; onOpen: (p: Past) => void; onForget: () => void }) {
  if (runs.length === 0) return null;
  return (
    <Card
      title="Earlier runs"
      actions={
        <Button kind="quiet" onClick={onForget}>
          Forget
        </Button>
      }
    >
      <ul className="space-y-1">
        {runs.map((p) => (
          <li key={p.id}>
            <button type="button" className="min-h-7 w-full rounded px-1 text-left hover:bg-sunken" onClick={() => onOpen(p)}>
              <span className="font-mono break-all">
                {p.toolset} {p.tool}
              </span>{" "}
              <span className="text-muted tabular-nums">
                {p.passed ? "passed" : "failed"}, {milliseconds(p.ms)}
                {p.before > 0 ? `, ${count(p.before)} → ${count(p.after)} tokens` : ""}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </Card>
  );
}
