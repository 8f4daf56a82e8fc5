import { useInfiniteQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { Select, TextField } from "../../components/field";
import { More } from "../../components/more";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { SaveCSV } from "../../components/savecsv";
import { Skeleton } from "../../components/skeleton";
import { Table, type Column } from "../../components/table";
import { shellWord } from "../../lib/clients";
import { count, milliseconds, plural, saved, second } from "../../lib/format";
import { useAnalytics } from "./analytics";
import { CallDrawer } from "./call";
import { OutcomeBadge } from "./outcome";
import { callsOf, callsPage, type Call } from "./queries";
import { outcomes, type Search } from "./search";

const columns = (show: (id: string) => void): Column<Call>[] => [
  {
    name: "When",
    cell: (c) => (
      <button type="button" className="min-h-6 text-left whitespace-nowrap text-accent hover:underline" onClick={() => show(c.id)}>
        <time dateTime={c.at}>{second(c.at)}</time>
        <span className="sr-only">, {c.id}</span>
      </button>
    ),
  },
  { name: "Tool", cell: (c) => <><span className="block min-w-40 font-mono break-all">{c.tool}</span><span className="block text-muted">{c.toolset ?? "deleted"}</span></> },
  { name: "Outcome", cell: (c) => <><OutcomeBadge call={c} />{c.cause ? <span className="block font-mono text-[0.86rem] text-muted">{c.cause}</span> : null}</> },
  { name: "Took", number: true, cell: (c) => <span className="whitespace-nowrap">{milliseconds(c.duration.totalMs)}</span> },
  { name: "Tokens", number: true, wide: true, cell: (c) => (c.tokens.before > 0 ? `${count(c.tokens.before)} → ${count(c.tokens.after)} (${saved(c.tokens.before, c.tokens.after)})` : "–") },
  { name: "Caller", wide: true, cell: (c) => <span className="break-all">{c.caller.name ?? c.caller.id ?? c.caller.kind}</span> },
];

/** The command that reads the same calls. */
function command(s: Search): string {
  const flag = (name: string, value?: string | number) => (value ? ` --${name} ${shellWord(String(value))}` : "");
  const outcome = s.outcome === "failed" ? " --failed" : flag("outcome", s.outcome);
  return `sluice logs${s.toolset ? ` ${s.toolset}` : ""} --since ${s.range ?? "24h"}${flag("tool", s.tool)}${outcome}${flag("cause", s.cause)}${s.slower ? ` --slower ${s.slower}ms` : ""}`;
}

export function CallLog() {
  const { search, change } = useAnalytics();
  const [live, setLive] = useState(false);
  const calls = useInfiniteQuery(callsOf(search, live));
  const items = calls.data?.pages.flatMap((p) => p.items) ?? [];
  const omitted = calls.data?.pages[0]?.omitted ?? 0;
  return (
    <>
      <Card flush>
        <Filter key={JSON.stringify({ ...search, call: "" })} search={search} change={change} />
        <div className="flex flex-wrap items-center justify-between gap-3 border-b border-line px-3 pb-3">
          <label className="flex min-h-6 items-center gap-2">
            <input type="checkbox" className="size-4 accent-(--accent)" checked={live} onChange={(e) => setLive(e.target.checked)} />
            Show new calls as they come
          </label>
          <Export search={search} />
        </div>
        {calls.isError ? <div className="p-3"><ProblemNote error={calls.error} retry={() => void calls.refetch()} /></div> : null}
        {calls.isPending ? <Skeleton rows={6} /> : null}
        {calls.data && items.length === 0 ? <p className="p-4 text-muted">No call that fits in this range.</p> : null}
        {items.length > 0 ? <Table label="Calls" columns={columns((call) => change({ call }))} rows={items} id={(c) => c.id} /> : null}
        {omitted > 0 ? <p className="border-t border-line px-4 py-3 text-muted">{plural(omitted, "call")} more were counted and not logged: a node logs 4,096 in ten seconds.</p> : null}
        <More list={calls} />
      </Card>
      <CallDrawer id={search.call ?? ""} close={() => change({ call: undefined })} />
      <CommandLine command={command(search)} />
    </>
  );
}

function Filter({ search, change }: { search: Search; change: (part: Search) => void }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const read = (name: string) => String(form.get(name) ?? "").trim();
    change({ tool: read("tool"), outcome: (read("outcome") || undefined) as Search["outcome"], cause: read("cause"), slower: Number(read("slower")) || undefined });
  };
  return (
    <form onSubmit={submit} className="grid items-end gap-3 p-3 sm:grid-cols-2 lg:grid-cols-[1fr_1fr_1fr_9rem_auto]">
      <TextField label="Tool" name="tool" defaultValue={search.tool} maxLength={256} />
      <Select label="Outcome" name="outcome" defaultValue={search.outcome ?? ""}>
        <option value="">Every outcome</option>
        <option value="failed">All that failed</option>
        {Object.entries(outcomes).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </Select>
      <TextField label="Cause" name="cause" defaultValue={search.cause} maxLength={64} placeholder="http_404" />
      <TextField label="Slower than, ms" name="slower" type="number" min={1} max={3_600_000} defaultValue={search.slower} />
      <Button type="submit">Filter</Button>
    </form>
  );
}

/** Saves the calls that fit. */
function Export({ search }: { search: Search }) {
  return (
    <SaveCSV
      file="calls.csv"
      one="call"
      names={["id", "at", "toolset", "tool", "revision", "outcome", "cause", "status", "credential", "caller_kind", "caller", "node", "total_ms", "upstream_ms", "bytes_before", "bytes_after", "tokens_before", "tokens_after", "cached", "trace"]}
      page={(cursor) => callsPage(search, cursor, 200)}
      row={(c) => [
        c.id, c.at, c.toolset ?? c.toolsetId, c.tool, c.revision, c.outcome, c.cause, c.status, c.credential, c.caller.kind, c.caller.id, c.node,
        c.duration.totalMs, c.duration.upstreamMs, c.bytes.before, c.bytes.after, c.tokens.before, c.tokens.after, c.cached ? "true" : "false", c.trace,
      ]}
    />
  );
}
