import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { Button } from "../../components/button";
import { SearchField } from "../../components/field";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { count, saved } from "../../lib/format";
import { toolsetQuery, toolsQuery } from "../../lib/queries";
import { useCan } from "../../lib/session";
import { usageOf } from "../analytics/queries";

type Answers = Schemas["Answers"];

/** A tool with what its answers cost. */
interface Row {
  name: string;
  answers: Answers | undefined;
  usage: Schemas["UsageNumbers"] | undefined;
}

/** So many tools are shown at once; a word finds the others. */
const SHOWN = 50;

/** What a tool's own settings say. */
function told(a: Answers | undefined): string[] {
  if (!a) return [];
  return [
    a.profile ? `profile ${a.profile}` : "",
    a.format && a.format !== "auto" ? `as ${a.format}` : "",
    a.fields ? `fields ${a.fields}` : "",
    a.rows ? `rows ${a.rows}` : "",
    a.where ? `where ${a.where}` : "",
    a.limit ? `at most ${count(a.limit)} rows` : "",
    a.maxString ? `strings of ${count(a.maxString)} bytes` : "",
    a.tokenBudget ? (a.tokenBudget < 0 ? "no token budget" : `budget ${count(a.tokenBudget)}`) : "",
    a.jq ? `jq ${a.jq}` : "",
    a.redact ? "redacts" : "",
    a.keepHidden ? "keeps hidden characters" : "",
    a.timeoutMs ? `${count(a.timeoutMs)} ms` : "",
    a.maxResponseBytes ? `${count(a.maxResponseBytes)} bytes` : "",
  ].filter((part) => part !== "");
}

const nothing: Schemas["PatchAnswers"] = {
  profile: "",
  format: "",
  fields: "",
  rows: "",
  where: "",
  limit: 0,
  maxString: 0,
  tokenBudget: 0,
  jq: "",
  redact: false,
  keepHidden: false,
  timeoutMs: 0,
  maxResponseBytes: 0,
};

const columns = (slug: string, editor: boolean): Column<Row>[] => [
  { name: "Tool", cell: (r) => <code className="block min-w-40 font-mono break-all">{r.name}</code> },
  { name: "Its own settings", cell: (r) => <Own slug={slug} row={r} editor={editor} /> },
  { name: "Calls, 7 days", number: true, cell: (r) => count(r.usage?.calls ?? 0) },
  {
    name: "Tokens",
    number: true,
    cell: (r) => (r.usage && r.usage.tokensBefore > 0 ? `${count(r.usage.tokensBefore)} → ${count(r.usage.tokensAfter)} (${saved(r.usage.tokensBefore, r.usage.tokensAfter)})` : "–"),
  },
  {
    name: "Projection",
    cell: (r) => (
      <Link to="/playground" search={{ toolset: slug, tool: r.name }} className="relative whitespace-nowrap text-accent underline">
        Try and change<span className="sr-only"> {r.name} in the playground</span>
      </Link>
    ),
  },
];

/** The tools with what is made of their answers, those that cost most first. Their projections are changed in the playground. */
export function ToolSettings({ slug }: { slug: string }) {
  const tools = useInfiniteQuery(toolsQuery(slug));
  const usage = useQuery(usageOf("7d", slug, "tool"));
  const editor = useCan("editor");
  const [word, setWord] = useState("");
  const { hasNextPage, isFetchingNextPage, fetchNextPage, isError } = tools;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, isError, fetchNextPage]);
  if (isError) return <ProblemNote error={tools.error} retry={() => void tools.refetch()} />;
  if (tools.isPending) return <Skeleton />;

  const used = new Map((usage.data?.groups ?? []).map((g) => [g.tool ?? "", g.totals]));
  const wanted = word.trim().toLowerCase();
  const rows: Row[] = tools.data.pages
    .flatMap((p) => p.items)
    .filter((t) => t.enabled && t.name.toLowerCase().includes(wanted))
    .map((t) => ({ name: t.name, answers: t.answers, usage: used.get(t.name) }));
  rows.sort((a, b) => (b.usage?.tokensBefore ?? 0) - (a.usage?.tokensBefore ?? 0) || told(b.answers).length - told(a.answers).length);
  return (
    <Card title="Tools" flush actions={<SearchField label="Filter tools" value={word} onChange={(e) => setWord(e.target.value)} />}>
      {usage.isError ? <ProblemNote error={usage.error} retry={() => void usage.refetch()} /> : null}
      {rows.length > 0 ? (
        <Table label="Settings of tools" columns={columns(slug, editor)} rows={rows.slice(0, SHOWN)} id={(r) => r.name} />
      ) : (
        <p className="p-4 text-muted">{wanted ? `No enabled tool has “${word}” in its name.` : "No tool is enabled."}</p>
      )}
      {rows.length > SHOWN ? <p className="border-t border-line p-3 text-muted">{count(rows.length - SHOWN)} more: filter by a word of their names.</p> : null}
    </Card>
  );
}

/** What a tool has of its own, and the way back to the toolset's. */
function Own({ slug, row, editor }: { slug: string; row: Row; editor: boolean }) {
  const queries = useQueryClient();
  const toolset = useQuery(toolsetQuery(slug));
  const remove = useMutation({
    mutationFn: () =>
      unwrap(
        api.PATCH("/v1/toolsets/{id}/tools/{name}", {
          params: { path: { id: slug, name: row.name }, header: { "If-Match": toolset.data?.etag ?? "" } },
          body: { answers: nothing },
          headers: { "Content-Type": "application/merge-patch+json" },
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  const parts = told(row.answers);
  return (
    <div className="min-w-40">
      {parts.length > 0 ? (
        <span className="flex flex-wrap items-center gap-2">
          <code className="font-mono text-[0.9rem] break-all">{parts.join(", ")}</code>
          {editor ? (
            <Button kind="quiet" busy={remove.isPending} onClick={() => remove.mutate()} aria-label={`Drop the settings of ${row.name}`}>
              Drop
            </Button>
          ) : null}
        </span>
      ) : (
        <span className="text-muted">As the toolset</span>
      )}
      {remove.isError ? <p role="alert" className="text-bad">{remove.error.message}</p> : null}
    </div>
  );
}
