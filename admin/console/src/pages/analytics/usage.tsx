import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { CommandLine } from "../../components/copy";
import { Select } from "../../components/field";
import { Figures, FiguresSkeleton } from "../../components/figures";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Table, type Column } from "../../components/table";
import type { Schemas } from "../../lib/api";
import { count, milliseconds, percent, plural, saved, short } from "../../lib/format";
import { useAnalytics } from "./analytics";
import { Chart } from "./chart";
import { everyStep, type Usage } from "./points";
import { usageOf, type By } from "./queries";
import { outcomes, ranges, type Outcome, type Range } from "./search";

export function UsagePage() {
  const { range, toolset } = useAnalytics();
  const usage = useQuery(usageOf(range, toolset));
  return (
    <>
      <div className="space-y-5">
        {usage.isError ? <ProblemNote error={usage.error} retry={() => void usage.refetch()} /> : null}
        {usage.isPending ? <FiguresSkeleton /> : null}
        {usage.data ? <Figures totals={usage.data.totals} note={ranges[range].toLowerCase()} /> : null}
        {usage.data && usage.data.totals.calls === 0 ? <Nothing toolset={toolset} /> : null}
        {usage.data && usage.data.totals.calls > 0 ? <Charts usage={usage.data} /> : null}
        {usage.data && usage.data.totals.calls > 0 ? <Divided key={toolset} range={range} toolset={toolset} /> : null}
      </div>
      <CommandLine command={`sluice usage${toolset ? ` ${toolset}` : ""} --since ${range}`} />
    </>
  );
}

const Nothing = ({ toolset }: { toolset: string }) => (
  <Card>
    <p className="text-muted">
      Nothing was called in this range.{" "}
      {toolset ? <Link to="/toolsets/$slug" params={{ slug: toolset }} className="text-accent underline">Connect an application</Link> : <Link to="/toolsets" className="text-accent underline">Connect an application to a toolset</Link>}
    </p>
  </Card>
);

function Charts({ usage }: { usage: Usage }) {
  const { at, calls, latency, tokens } = useMemo(() => {
    const steps = everyStep(usage);
    const of = (read: (p: Schemas["UsagePoint"]) => number, without: number | null) => steps.map((s) => (s.point ? read(s.point) : without));
    return {
      at: steps.map((s) => s.at),
      calls: [
        { name: "All calls", colour: "--accent", values: of((p) => p.calls, 0) },
        { name: "Errors", colour: "--bad", values: of((p) => p.errors, 0) },
      ],
      latency: [
        { name: "Median", colour: "--accent", values: of((p) => p.latency.p50Ms, null) },
        { name: "p95", colour: "--warn", values: of((p) => p.latency.p95Ms, null) },
        { name: "p99", colour: "--bad", values: of((p) => p.latency.p99Ms, null) },
      ],
      tokens: [
        { name: "Before", colour: "--line-strong", values: of((p) => p.tokensBefore, 0) },
        { name: "After", colour: "--accent", values: of((p) => p.tokensAfter, 0) },
      ],
    };
  }, [usage]);
  const t = usage.totals;
  return (
    <div className="grid gap-5 lg:grid-cols-2">
      <Chart title="Calls and errors" bars at={at} series={calls} format={short} summary={`${plural(t.calls, "call")}, ${count(t.errors)} of them failed.`} />
      <Chart title="Latency" at={at} series={latency} format={milliseconds} summary={`Median ${milliseconds(t.latency.p50Ms)}, p95 ${milliseconds(t.latency.p95Ms)}, p99 ${milliseconds(t.latency.p99Ms)}.`} />
      <Chart title="Tokens of answers" bars at={at} series={tokens} format={short} summary={`${plural(t.tokensBefore, "token")} before, ${count(t.tokensAfter)} after, ${saved(t.tokensBefore, t.tokensAfter)}.`} />
      <Parts usage={usage} />
    </div>
  );
}

/** Where the time of a call goes, on average. */
function Parts({ usage: { totals: t } }: { usage: Usage }) {
  const upstream = t.upstream.meanMs;
  const rows = [
    { name: "Whole call", ms: t.latency.meanMs },
    { name: "Waiting for the upstream, where it was asked", ms: upstream },
    { name: "Response programs and plugins", ms: t.pluginsMs },
  ];
  const columns: Column<(typeof rows)[number]>[] = [
    { name: "Part", cell: (r) => r.name },
    { name: "Mean", number: true, cell: (r) => milliseconds(r.ms) },
  ];
  return (
    <Card title="Where the time goes" flush>
      <Table label="Where the time goes" columns={columns} rows={rows} id={(r) => r.name} />
      <p className="border-t border-line px-4 py-3 text-muted">
        {t.cached > 0 ? `${plural(t.cached, "call")} were answered from the cache. ` : ""}
        Latency of the upstream: median {milliseconds(t.upstream.p50Ms)}, p95 {milliseconds(t.upstream.p95Ms)}.
      </p>
    </Card>
  );
}

type Group = Schemas["UsageGroup"];

const byNames: Record<By, string> = { toolset: "Toolset", tool: "Tool", outcome: "Outcome", credential: "Credential" };

const nameOf = (g: Group, by: By) => {
  if (by === "toolset") return g.toolset ?? `${g.toolsetId ?? ""} (deleted)`;
  if (by === "outcome") return outcomes[g.outcome as Outcome] ?? g.outcome ?? "";
  return g[by] ?? "";
};

const columns = (by: By): Column<Group>[] => [
  { name: byNames[by], cell: (g) => <span className={by === "tool" ? "font-mono break-all" : ""}>{nameOf(g, by)}</span> },
  { name: "Calls", number: true, cell: (g) => count(g.totals.calls) },
  { name: "Errors", number: true, cell: (g) => percent(g.totals.errors, g.totals.calls) },
  { name: "Median", number: true, wide: true, cell: (g) => milliseconds(g.totals.latency.p50Ms) },
  { name: "p95", number: true, cell: (g) => milliseconds(g.totals.latency.p95Ms) },
  { name: "Tokens before", number: true, wide: true, cell: (g) => short(g.totals.tokensBefore) },
  { name: "Tokens after", number: true, wide: true, cell: (g) => short(g.totals.tokensAfter) },
  { name: "Saved", number: true, cell: (g) => saved(g.totals.tokensBefore, g.totals.tokensAfter) },
];

/** The same numbers, divided. */
function Divided({ range, toolset }: { range: Range; toolset: string }) {
  const [by, setBy] = useState<By>(toolset ? "tool" : "toolset");
  const usage = useQuery(usageOf(range, toolset, by));
  return (
    <Card
      title="Divided"
      flush
      actions={
        <Select label="Divided by" hidden value={by} onChange={(e) => setBy(e.target.value as By)}>
          {Object.entries(byNames).map(([value, name]) => (
            <option key={value} value={value}>
              By {name.toLowerCase()}
            </option>
          ))}
        </Select>
      }
    >
      {usage.isError ? <ProblemNote error={usage.error} retry={() => void usage.refetch()} /> : null}
      {usage.isPending ? <Skeleton rows={3} /> : null}
      {usage.data ? <Table label={`Usage by ${by}`} columns={columns(by)} rows={usage.data.groups} id={(g) => `${g.toolsetId ?? ""} ${g.tool ?? ""} ${g.outcome ?? ""} ${g.credential ?? ""}`} /> : null}
      {usage.data?.truncated ? <p className="border-t border-line px-4 py-3 text-muted">Only the busiest are listed.</p> : null}
    </Card>
  );
}
