import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CommandLine } from "../components/copy";
import { CreateToolset, NoToolsets } from "../components/empty";
import { Figures, FiguresSkeleton } from "../components/figures";
import { Card, Page } from "../components/page";
import { ProblemNote } from "../components/problem";
import { revisionColumns } from "../components/revisions";
import { Skeleton } from "../components/skeleton";
import { AuthState, Badge, ToolsetStatus } from "../components/status";
import { Table, type Column } from "../components/table";
import type { Schemas } from "../lib/api";
import { credentialState } from "../lib/credential";
import { ago, date, plural } from "../lib/format";
import { openAlertsQuery, publishedQuery, toolsetsQuery, usageQuery } from "../lib/queries";

const SHOWN = 6;

export function Home() {
  const usage = useQuery(usageQuery());
  const toolsets = useInfiniteQuery(toolsetsQuery);
  const items = toolsets.data?.pages[0]?.items ?? [];
  return (
    <Page title="Home" lead="What the toolsets of this workspace did, and what needs attention." actions={<CreateToolset />}>
      <div className="space-y-5">
        {usage.isError ? <ProblemNote error={usage.error} retry={() => void usage.refetch()} /> : null}
        {usage.data ? <Figures totals={usage.data.totals} /> : usage.isPending ? <FiguresSkeleton /> : null}
        <div className="grid gap-5 lg:grid-cols-2">
          <Attention />
          {toolsets.isError ? <ProblemNote error={toolsets.error} retry={() => void toolsets.refetch()} /> : null}
          {toolsets.isPending ? <Skeleton rows={3} /> : null}
          {toolsets.data && items.length === 0 ? <NoToolsets /> : null}
          {items.length > 0 ? <Recent items={items.slice(0, SHOWN)} /> : null}
        </div>
        <Deploys />
      </div>
      <CommandLine command="sluice usage" />
    </Page>
  );
}

function Recent({ items }: { items: Schemas["Toolset"][] }) {
  return (
    <Card title="Newest toolsets" flush actions={<Link to="/toolsets" className="text-accent underline">All</Link>}>
      <ul className="divide-y divide-line">
        {items.map((t) => (
          <li key={t.id} className="flex items-center justify-between gap-x-4 px-4 py-2.5">
            <Link to="/toolsets/$slug" params={{ slug: t.slug }} className="min-w-0 font-medium break-words text-accent hover:underline">
              {t.name}
            </Link>
            <span className="flex shrink-0 flex-wrap items-center justify-end gap-x-3 gap-y-1 text-right text-muted max-sm:w-24">
              {plural(t.enabledTools, "tool")}
              <ToolsetStatus toolset={t} />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

const columns: Column<Schemas["Published"]>[] = [
  {
    name: "Toolset",
    cell: (r) => (
      <Link to="/toolsets/$slug/revisions" params={{ slug: r.slug }} className="font-medium break-words text-accent hover:underline">
        {r.slug}
      </Link>
    ),
  },
  ...revisionColumns,
];

/** The newest revisions of all toolsets. */
function Deploys() {
  const deploys = useQuery(publishedQuery);
  if (deploys.isError) return <ProblemNote error={deploys.error} retry={() => void deploys.refetch()} />;
  if (deploys.isPending) return <Skeleton rows={3} />;
  if (deploys.data.items.length === 0) return null; // Nothing was deployed yet: the page says above what to begin with.
  return (
    <Card title="Recent deploys" flush>
      <Table label="Recent deploys" columns={columns} rows={deploys.data.items} id={(r) => `${r.toolsetId} ${r.n}`} />
      <p className="border-t border-line px-4 py-2 text-muted">
        The same in a terminal: <code className="font-mono text-text">sluice toolset history</code>
      </p>
    </Card>
  );
}

const severity = { info: "plain", warning: "warn", critical: "bad" } as const;

/** Open alerts, and toolsets whose credential does not work. */
function Attention() {
  const alerts = useQuery(openAlertsQuery);
  const toolsets = useInfiniteQuery(toolsetsQuery);
  if (alerts.isError) return <ProblemNote error={alerts.error} retry={() => void alerts.refetch()} />;
  if (alerts.isPending) return <Skeleton rows={3} />;
  const bySlug = new Map((toolsets.data?.pages ?? []).flatMap((p) => p.items).map((t) => [t.id, t]));
  const locked = [...bySlug.values()].filter((t) => ["failing", "expired", "login_required"].includes(credentialState(t.connectors)));
  const nothing = alerts.data.items.length === 0 && locked.length === 0;
  return (
    <Card title="Needs attention" flush>
      {nothing ? <p className="px-4 py-3 text-muted">Nothing: no open alert, and every credential works.</p> : null}
      <ul className="divide-y divide-line">
        {alerts.data.items.map((a) => (
          <li key={a.id} className="px-4 py-2.5">
            <div className="flex flex-wrap items-center gap-2">
              <Badge tone={severity[a.severity]}>{a.severity}</Badge>
              <span className="min-w-0 break-words">{a.title}</span>
            </div>
            <p className="mt-0.5 text-muted" title={date(a.since)}>
              since {ago(a.since)}
              {bySlug.has(a.toolsetId ?? "") ? `, ${bySlug.get(a.toolsetId ?? "")?.name}` : ""}
            </p>
          </li>
        ))}
        {locked.map((t) => (
          <li key={t.id} className="flex flex-wrap items-center justify-between gap-2 px-4 py-2.5">
            <Link to="/toolsets/$slug" params={{ slug: t.slug }} className="font-medium text-accent hover:underline">
              {t.name}
            </Link>
            <AuthState toolset={t} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
