import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { Fragment, useEffect, useLayoutEffect, useRef, useState } from "react";
import { CommandLine } from "../../components/copy";
import { SearchField } from "../../components/field";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { api, unwrap, type Schemas } from "../../lib/api";
import { count, plural } from "../../lib/format";
import { toolsetQuery, toolsQuery } from "../../lib/queries";
import { useCan } from "../../lib/session";
import { EditTool } from "./edittool";
import { ItemChoice } from "../create/items";
import { ToolSuggestions } from "./suggestions";
import { ToolArguments } from "./toolarguments";

type Tool = Schemas["Tool"];

/** So many tools some applications show, and so many others accept. */
const LIMITS = [128, 40];

export function Tools() {
  const { slug } = useParams({ from: "/toolsets/$slug" });
  const tools = useInfiniteQuery(toolsQuery(slug));
  const editor = useCan("editor");
  const [word, setWord] = useState("");
  const { hasNextPage, isFetchingNextPage, fetchNextPage, isError } = tools;

  // The filter is over all tools, so all pages are read.
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, isError, fetchNextPage]);

  if (isError) return <ProblemNote error={tools.error} retry={() => void tools.refetch()} />;
  if (tools.isPending) return <Skeleton rows={10} />;
  const all = tools.data.pages.flatMap((p) => p.items);
  const wanted = word.trim().toLowerCase();
  const shown = all.filter((t) => `${t.name} ${t.description} ${t.operation.method} ${t.operation.path}`.toLowerCase().includes(wanted));
  const enabled = all.filter((t) => t.enabled);
  return (
    <>
      <LimitWarning slug={slug} enabled={enabled.length} />
      {editor ? all.length > 0 ? <ToolSuggestions slug={slug} /> : null : <p className="mb-4 text-muted">Changing tools needs the role editor.</p>}
      <Card flush>
        <div className="flex flex-wrap items-center justify-between gap-3 border-b border-line p-3">
          <SearchField label="Filter tools" value={word} onChange={(e) => setWord(e.target.value)} />
          <p role="status" className="text-muted tabular-nums">
            {wanted ? `${count(shown.length)} of ${plural(all.length, "tool")}` : `${count(enabled.length)} of ${plural(all.length, "tool")} enabled`}
          </p>
        </div>
        <Rows slug={slug} tools={shown} />
        {shown.length === 0 ? <p className="p-4 text-muted">{all.length === 0 ? "No operation of the source became a tool." : `No tool has “${word}” in it.`}</p> : null}
      </Card>
      <Items slug={slug} />
      <CommandLine command={`sluice toolset tools ${slug}`} />
    </>
  );
}

/** What MCP servers have besides tools; nothing where there is none. */
function Items({ slug }: { slug: string }) {
  const editor = useCan("editor");
  const toolset = useQuery(toolsetQuery(slug));
  if (!toolset.data?.data.connectors.some((c) => c.source.kind === "mcp")) return null;
  return (
    <fieldset disabled={!editor} className="mt-5 min-w-0">
      <legend className="sr-only">Prompts and resources</legend>
      <ItemChoice slug={slug} />
      <p className="mt-2 text-muted">
        The same in a terminal: <code className="font-mono break-words text-text">sluice toolset items {slug}</code>
      </p>
    </fieldset>
  );
}

function LimitWarning({ slug, enabled }: { slug: string; enabled: number }) {
  const toolset = useQuery(toolsetQuery(slug));
  const limit = LIMITS.find((n) => enabled > n);
  if (!limit || toolset.data?.data.selection !== "all") return null;
  return (
    <p className="mb-4 rounded-lg border border-line bg-warn-soft px-4 py-2.5 text-warn">
      Some applications use at most {limit} tools. Disable what is not needed, or{" "}
      <Link to="/toolsets/$slug/optimizations" params={{ slug }} className="font-medium underline">
        let agents find them by search
      </Link>
      .
    </p>
  );
}

/** Only the rows in the window are made: a toolset may have thousands. */
function Rows({ slug, tools }: { slug: string; tools: Tool[] }) {
  const list = useRef<HTMLUListElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => setTop(list.current?.offsetTop ?? 0), []);
  const rows = useWindowVirtualizer({
    count: tools.length,
    estimateSize: () => 64,
    overscan: 12,
    scrollMargin: top,
    getItemKey: (i) => tools[i]?.originalName ?? i,
  });
  return (
    <ul ref={list} className="relative" style={{ height: rows.getTotalSize() }}>
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
            style={{ transform: `translateY(${row.start - top}px)` }}
          >
            <Row slug={slug} tool={tool} />
          </li>
        );
      })}
    </ul>
  );
}

function Row({ slug, tool }: { slug: string; tool: Tool }) {
  const editor = useCan("editor");
  return (
    <div className="flex items-start gap-4 px-4 py-3">
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <span className={`font-mono font-medium break-words ${tool.enabled ? "" : "text-muted line-through"}`}>
            <Name name={tool.name} />
          </span>
          {tool.annotations.destructiveHint ? <Badge tone="warn">Destructive</Badge> : null}
        </p>
        <p className="line-clamp-2 text-muted">{tool.description}</p>
      </div>
      <p className="hidden w-64 shrink-0 font-mono text-[0.86rem] break-words text-muted lg:block">
        {tool.operation.method} <Path path={tool.operation.path} />
      </p>
      <p className="hidden w-24 shrink-0 text-right whitespace-nowrap text-muted tabular-nums sm:block">{plural(tool.tokens, "token")}</p>
      <div className="flex shrink-0 flex-col items-end sm:-mt-1 sm:flex-row sm:items-center sm:gap-2">
        {editor ? <EditTool slug={slug} tool={tool} /> : null}
        {editor && !tool.plugin ? <ToolArguments slug={slug} tool={tool} /> : null}
        <Enabled slug={slug} tool={tool} />
      </div>
    </div>
  );
}

/** A name that breaks after an underscore. */
const Name = ({ name }: { name: string }) => <Broken parts={name.split(/(?<=_)/)} />;

/** A path that breaks after a slash. */
const Path = ({ path }: { path: string }) => <Broken parts={path.split(/(?<=\/)/)} />;

const Broken = ({ parts }: { parts: string[] }) =>
  parts.map((part, i) => (
    <Fragment key={`${i} ${part}`}>
      {part}
      <wbr />
    </Fragment>
  ));

/** The switch of a tool. A change makes a new draft; what is live stays until it is tested. */
function Enabled({ slug, tool }: { slug: string; tool: Tool }) {
  const queries = useQueryClient();
  const toolset = useQuery(toolsetQuery(slug));
  const editor = useCan("editor");
  const change = useMutation({
    mutationFn: (enabled: boolean) =>
      unwrap(
        api.PATCH("/v1/toolsets/{id}/tools/{name}", {
          params: { path: { id: slug, name: tool.name }, header: { "If-Match": toolset.data?.etag ?? "" } },
          body: { enabled },
          headers: { "Content-Type": "application/merge-patch+json" },
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  const value = change.isPending ? change.variables : tool.enabled;
  return (
    <div className="w-20 shrink-0">
      <label className="flex min-h-6 items-center justify-end gap-2">
        <input
          type="checkbox"
          className="size-4 accent-(--accent)"
          checked={value}
          disabled={change.isPending || !editor}
          onChange={(e) => change.mutate(e.target.checked)}
          aria-label={`${tool.name} is enabled`}
        />
        <span aria-hidden className="w-6 text-muted">{value ? "On" : "Off"}</span>
      </label>
      {change.isError ? <p role="alert" className="mt-1 text-right text-[0.86rem] text-bad">{change.error.message}</p> : null}
    </div>
  );
}
