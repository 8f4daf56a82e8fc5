import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useId, useRef, useState } from "react";
import { Button } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { SearchField, TextField } from "../../components/field";
import { Card, Fact } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { api, unwrap, type Schemas } from "../../lib/api";
import { count, plural } from "../../lib/format";
import { asProblem } from "../../lib/problem";
import { toolsetQuery, toolsQuery } from "../../lib/queries";
import { readDraft } from "./draft";
import { ItemChoice } from "./items";
import { fits, ServerVariables } from "./servervariables";
import { Next } from "./steps";

type Tool = Schemas["Tool"];
type Toolset = Schemas["ToolsetDetail"];
type Mode = Schemas["PatchToolset"]["selection"];

/** More tools than so many make agents slow and choose badly. */
const MANY = 40;

/** The API takes so many changes of tools at once. */
const BATCH = 4096;

export function Review() {
  const { slug } = useParams({ from: "/toolsets/new/$slug" });
  const toolset = useQuery(toolsetQuery(slug));
  const tools = useInfiniteQuery(toolsQuery(slug));
  const { hasNextPage, isFetchingNextPage, fetchNextPage, isError } = tools;

  // What is chosen is chosen of all tools, so all pages are read.
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, isError, fetchNextPage]);

  if (isError) return <ProblemNote error={tools.error} retry={() => void tools.refetch()} />;
  if (!toolset.data || tools.isPending || hasNextPage) return <Skeleton rows={8} />;
  return <Choices key={slug} toolset={toolset.data.data} tools={tools.data.pages.flatMap((p) => p.items)} />;
}

function Choices({ toolset: t, tools }: { toolset: Toolset; tools: Tool[] }) {
  const mcp = t.source.kind === "mcp";
  // Of a server with many tools none is chosen beforehand: it was not made for this toolset.
  const fresh = mcp && t.status === "draft" && t.createdAt === t.updatedAt && tools.length > MANY;
  const [enabled, setEnabled] = useState(() => new Set(fresh ? [] : tools.filter((tool) => tool.enabled).map((tool) => tool.name)));
  const [selection, setSelection] = useState<Mode>(t.status === "draft" && t.selection === "all" && enabled.size > MANY ? "search" : t.selection);
  const [name, setName] = useState(t.name);
  const [baseUrl, setBaseUrl] = useState(t.baseUrl);
  const address = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const queries = useQueryClient();

  const save = useMutation({
    mutationFn: async () => {
      let etag = (await queries.fetchQuery({ ...toolsetQuery(t.slug), staleTime: 0 })).etag;
      const path = { id: t.slug };
      const patch = {
        ...(name.trim() !== t.name ? { name: name.trim() } : {}),
        ...(baseUrl.trim() !== t.baseUrl ? { baseUrl: baseUrl.trim() } : {}),
        ...(selection !== t.selection ? { selection } : {}),
      };
      if (Object.keys(patch).length > 0) {
        await unwrap(
          api.PATCH("/v1/toolsets/{id}", {
            params: { path, header: { "If-Match": etag } },
            body: patch,
            headers: { "Content-Type": "application/merge-patch+json" },
          }),
        );
        etag = (await queries.fetchQuery({ ...toolsetQuery(t.slug), staleTime: 0 })).etag;
      }
      const updates = tools.filter((tool) => tool.enabled !== enabled.has(tool.name)).map((tool) => ({ tool: tool.name, enabled: !tool.enabled }));
      for (let i = 0; i < updates.length; i += BATCH) {
        if (i > 0) etag = (await queries.fetchQuery({ ...toolsetQuery(t.slug), staleTime: 0 })).etag;
        await unwrap(api.POST("/v1/toolsets/{id}/tools/batch-update", { params: { path, header: { "If-Match": etag } }, body: { updates: updates.slice(i, i + BATCH) } }));
      }
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["toolset", t.slug] });
      await navigate({ to: mcp ? "/toolsets/new/$slug/test" : "/toolsets/new/$slug/authentication", params: { slug: t.slug } });
    },
  });
  const faults = save.isError ? asProblem(save.error).faults : [];
  const [asked, setAsked] = useState(false);
  const on = () => {
    setAsked(true);
    if (mcp || baseUrl.trim()) save.mutate();
    else address.current?.querySelector("input")?.focus();
  };
  const nowhere = asked && !mcp && !baseUrl.trim() ? "Enter the address of the API: the specification names none that can be called." : undefined;
  const fault = (field: string) => faults.find((f) => f.location === `body.${field}` || f.pointer === `#/${field}`)?.detail;

  return (
    <div className="space-y-5">
      {readDraft().slug === t.slug && readDraft().refreshed ? (
        <p role="status" className="rounded-lg border border-line bg-surface p-4">
          This source is a toolset already: it was read again, and its edits are kept.{" "}
          <Link to="/toolsets/$slug" params={{ slug: t.slug }} className="text-accent underline">
            Open {t.name}
          </Link>
          . A second toolset of it is made with a name of its own: <code className="font-mono">sluice add SPECIFICATION --slug NAME</code>
        </p>
      ) : null}
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Card title="What was found">
          <dl>
            <Fact name={t.source.kind === "mcp" ? "MCP server" : "Specification"}>
              {t.source.title} {t.source.version} ({t.source.kind === "mcp" ? "MCP" : "OpenAPI"} {t.source.specVersion})
            </Fact>
            {mcp ? null : <Fact name="Operations">{count(t.operations)}</Fact>}
            <Fact name="Tools">{count(t.toolCount)}</Fact>
          </dl>
        </Card>
        <Card title="Name and address">
          <div className="space-y-3">
            <TextField label="Name of the toolset" value={name} error={fault("name")} onChange={(e) => setName(e.target.value)} />
            <div ref={address}>
              <TextField
                label="Where calls are sent"
                type="url"
                value={baseUrl}
                error={nowhere ?? fault("baseUrl")}
                hint={t.servers.length > 1 || t.baseUrl || mcp ? undefined : "The specification names no address that can be called: enter that of the API."}
                onChange={(e) => setBaseUrl(e.target.value)}
              />
              <ServerVariables servers={t.servers} url={baseUrl} onURL={setBaseUrl} />
              <OtherServers servers={t.servers.filter((s) => s.url !== baseUrl && !fits(s.template, baseUrl))} onServer={setBaseUrl} />
            </div>
          </div>
        </Card>
      </div>
      <Findings toolset={t} />
      <SelectionChoice count={enabled.size} value={selection} onValue={setSelection} />
      <ToolChoice tools={tools} enabled={enabled} claimed={mcp} onEnabled={setEnabled} />
      {mcp ? <ItemChoice slug={t.slug} /> : null}
      {save.isError ? <ProblemNote error={save.error} /> : null}
      <Next back={mcp ? "/toolsets/new/$slug/authentication" : "/toolsets/new"} slug={t.slug}>
        <Button kind="primary" busy={save.isPending} disabled={enabled.size === 0 && !(mcp && tools.length === 0)} onClick={on}>
          Continue with {plural(enabled.size, "tool")}
        </Button>
      </Next>
      <CommandLine command={`sluice toolset tools ${t.slug}`} />
    </div>
  );
}

/** Findings beyond so many are in the API's answer only. */
const LISTED = 50;

function Findings({ toolset: t }: { toolset: Toolset }) {
  if (t.unsupported.length === 0 && t.warnings.length === 0) return null;
  return (
    <Card title="Diagnostics">
      {t.unsupported.length > 0 ? (
        <details>
          <summary className="min-h-6 py-1 font-medium">{plural(t.unsupported.length, "operation")} cannot be a tool</summary>
          <ul className="list-disc space-y-1 py-1 pl-5">
            {t.unsupported.slice(0, LISTED).map((u) => (
              <li key={u.pointer} className="break-words">
                <code className="font-mono">
                  {u.method} {u.path}
                </code>
                {u.line ? `, line ${u.line}` : ""}: {u.reason}
              </li>
            ))}
          </ul>
        </details>
      ) : null}
      {t.warnings.length > 0 ? (
        <details>
          <summary className="min-h-6 py-1 font-medium">{plural(t.warnings.length, "remark")} on the specification</summary>
          <ul className="list-disc space-y-1 py-1 pl-5">
            {t.warnings.slice(0, LISTED).map((d) => (
              <li key={`${d.code}${d.pointer}${d.line}${d.detail}`} className="break-words">
                {d.line ? `Line ${d.line}: ` : ""}
                {d.detail}
                {d.remedy ? `. ${d.remedy}` : ""}
              </li>
            ))}
          </ul>
        </details>
      ) : null}
    </Card>
  );
}

function SelectionChoice({ count: enabled, value, onValue }: { count: number; value: Mode; onValue: (mode: Mode) => void }) {
  const modes = [
    { id: "all", name: "List all tools", note: enabled > MANY ? `${count(enabled)} definitions in every conversation; some applications refuse so many` : "Right for a toolset of this size" },
    { id: "search", name: "Find tools by search", note: enabled > MANY ? `Advised for more than ${MANY} tools: agents list a few tools and find the others` : `Made for more than ${MANY} tools` },
    // What was set elsewhere stays, and is shown.
    ...(value === "use-case" ? [{ id: value, name: "Those of a use case", note: "As it is set on the page Optimizations" } as const] : []),
    ...(value === "code" ? [{ id: value, name: "Called from scripts", note: "As it is set on the page Optimizations" } as const] : []),
  ] as const;
  return (
    <Card title="Which tools agents list">
      <fieldset>
        <legend className="sr-only">Which tools agents list</legend>
        {modes.map((m) => (
          <label key={m.id} className="flex min-h-8 items-start gap-2 py-1">
            <input type="radio" name="selection" className="mt-0.5 size-4 shrink-0 accent-(--accent)" checked={value === m.id} onChange={() => onValue(m.id)} />
            <span>
              {m.name} <span className="block text-muted">{m.note}</span>
            </span>
          </label>
        ))}
      </fieldset>
    </Card>
  );
}

/** The tools, of which some are chosen; claimed: what they do is the word of a server only. */
function ToolChoice({ tools, enabled, claimed, onEnabled }: { tools: Tool[]; enabled: Set<string>; claimed: boolean; onEnabled: (names: Set<string>) => void }) {
  const [word, setWord] = useState("");
  const wanted = word.trim().toLowerCase();
  const shown = tools.filter((t) => `${t.name} ${t.description} ${t.operation.method} ${t.operation.path}`.toLowerCase().includes(wanted));
  const set = (names: string[], on: boolean) => {
    const next = new Set(enabled);
    for (const name of names) {
      if (on) next.add(name);
      else next.delete(name);
    }
    onEnabled(next);
  };
  const all = shown.map((t) => t.name);
  return (
    <Card title="Tools" flush actions={<span role="status" className="text-muted tabular-nums">{count(enabled.size)} of {plural(tools.length, "tool")} chosen</span>}>
      <div className="flex flex-wrap items-center gap-2 border-b border-line p-3">
        <SearchField label="Filter tools" value={word} onChange={(e) => setWord(e.target.value)} />
        <Button onClick={() => set(all, true)}>Choose all shown</Button>
        <Button onClick={() => set(all, false)}>Choose none shown</Button>
      </div>
      {shown.length > 0 ? <Rows tools={shown} enabled={enabled} claimed={claimed} onTool={(name, on) => set([name], on)} /> : <p className="p-4 text-muted">{tools.length === 0 ? claimed ? "The server has no tools." : "No operation became a tool: see the diagnostics." : `No tool has “${word}” in it.`}</p>}
    </Card>
  );
}

/** Only the rows in view are made: a specification may have thousands of operations. */
function Rows({ tools, enabled, claimed, onTool }: { tools: Tool[]; enabled: Set<string>; claimed: boolean; onTool: (name: string, on: boolean) => void }) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: tools.length,
    getScrollElement: () => box.current,
    estimateSize: () => 56,
    overscan: 12,
    getItemKey: (i) => tools[i]?.originalName ?? i,
  });
  return (
    <div ref={box} tabIndex={0} role="region" aria-label="Tools to choose from" className="max-h-96 overflow-y-auto">
      <ul className="relative" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((row) => {
          const tool = tools[row.index];
          if (!tool) return null;
          return (
            <li
              key={row.key}
              ref={rows.measureElement}
              data-index={row.index}
              aria-posinset={row.index + 1}
              aria-setsize={tools.length}
              className="absolute inset-x-0 top-0 border-b border-line"
              style={{ transform: `translateY(${row.start}px)` }}
            >
              <div className="flex items-start gap-3 px-4 py-2">
                <input
                  id={`${id}-${row.index}`}
                  type="checkbox"
                  className="mt-0.5 size-4 shrink-0 accent-(--accent)"
                  checked={enabled.has(tool.name)}
                  onChange={(e) => onTool(tool.name, e.target.checked)}
                />
                <div className="min-w-0">
                  <p className="flex flex-wrap items-center gap-x-3">
                    <label htmlFor={`${id}-${row.index}`} className="font-mono font-medium break-all">
                      {tool.name}
                    </label>
                    {tool.annotations.readOnlyHint && claimed ? <Badge tone="plain">Only reads, it claims</Badge> : null}
                    {tool.annotations.destructiveHint ? <Badge tone="warn">{claimed ? "May be destructive" : "Destructive"}</Badge> : null}
                  </p>
                  <p className="line-clamp-2 text-muted">{tool.description}</p>
                </div>
              </div>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** Servers beyond so many are entered by hand. */
const SERVERS = 8;

/** The other addresses that a specification has for its API. */
function OtherServers({ servers, onServer }: { servers: Schemas["APIServer"][]; onServer: (url: string) => void }) {
  if (servers.length === 0) return null;
  return (
    <div className="mt-2">
      <p className="text-muted">The specification also has</p>
      <ul aria-label="Other servers">
        {servers.slice(0, SERVERS).map((s) => (
          <li key={s.url} className="flex flex-wrap items-center justify-between gap-x-3 py-0.5">
            <span className="min-w-0 break-all">
              {s.url}
              {s.description ? <span className="text-muted">, {s.description}</span> : null}
            </span>
            <Button kind="quiet" onClick={() => onServer(s.url)} aria-label={`Use it: ${s.url}`}>
              Use it
            </Button>
          </li>
        ))}
      </ul>
      {servers.length > SERVERS ? <p className="text-muted">And {plural(servers.length - SERVERS, "more server")}.</p> : null}
    </div>
  );
}
