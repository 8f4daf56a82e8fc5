import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../components/button";
import { CommandLine } from "../components/copy";
import { CreateToolset, NoToolsets } from "../components/empty";
import { SearchField, Select } from "../components/field";
import { Card, Page } from "../components/page";
import { ProblemNote } from "../components/problem";
import { Skeleton } from "../components/skeleton";
import { AuthState, ToolsetStatus } from "../components/status";
import { Table, type Column } from "../components/table";
import type { Schemas } from "../lib/api";
import { ago, count, date, percent, saved } from "../lib/format";
import { credentialState } from "../lib/credential";
import { toolsetsQuery, usageQuery } from "../lib/queries";
import { useCan } from "../lib/session";
import { PauseButtons } from "./toolset/pause";

type Toolset = Schemas["Toolset"];

const states: Record<string, { name: string; is: (t: Toolset) => boolean }> = {
  live: { name: "Live", is: (t) => t.status === "live" && !t.paused },
  paused: { name: "Paused", is: (t) => Boolean(t.paused) },
  draft: { name: "Draft", is: (t) => t.status === "draft" },
  changed: { name: "Draft changed", is: (t) => t.changed },
  credential: { name: "Credential does not work", is: (t) => ["failing", "expired", "login_required"].includes(credentialState(t.connectors)) },
};

const columns = (usage: Map<string, Schemas["UsageNumbers"]>): Column<Toolset>[] => [
  {
    name: "Name",
    cell: (t) => (
      <>
        <Link to="/toolsets/$slug" params={{ slug: t.slug }} className="font-medium text-accent hover:underline">
          {t.name}
        </Link>
        {t.name !== t.slug ? <span className="block font-mono text-[0.86rem] text-muted">{t.slug}</span> : null}
      </>
    ),
  },
  { name: "Status", cell: (t) => <ToolsetStatus toolset={t} /> },
  { name: "Tools", number: true, cell: (t) => (t.enabledTools >= t.toolCount ? count(t.toolCount) : `${count(t.enabledTools)} of ${count(t.toolCount)}`) },
  { name: "Calls, 24 h", number: true, cell: (t) => count(usage.get(t.id)?.calls ?? 0) },
  { name: "Errors", number: true, wide: true, cell: (t) => percent(usage.get(t.id)?.errors ?? 0, usage.get(t.id)?.calls ?? 0) },
  { name: "Tokens", number: true, cell: (t) => saved(usage.get(t.id)?.tokensBefore ?? 0, usage.get(t.id)?.tokensAfter ?? 0) },
  { name: "Credential", cell: (t) => <AuthState toolset={t} /> },
  { name: "Changed", wide: true, cell: (t) => <time dateTime={t.updatedAt} title={date(t.updatedAt)} className="whitespace-nowrap text-muted">{ago(t.updatedAt)}</time> },
];

/** A column to choose toolsets in. */
const choice = (chosen: ReadonlySet<string>, choose: (t: Toolset, on: boolean) => void): Column<Toolset> => ({
  name: "Choose",
  quiet: true,
  cell: (t) => <input type="checkbox" className="size-4 accent-(--accent)" aria-label={`Choose ${t.name}`} checked={chosen.has(t.id)} onChange={(e) => choose(t, e.target.checked)} />,
});

export function Toolsets() {
  const toolsets = useInfiniteQuery(toolsetsQuery);
  const usage = useQuery(usageQuery());
  const editor = useCan("editor");
  const [word, setWord] = useState("");
  const [state, setState] = useState("");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const items = toolsets.data?.pages.flatMap((p) => p.items) ?? [];
  const wanted = word.trim().toLowerCase();
  const shown = items.filter((t) => `${t.name} ${t.slug} ${t.status}`.toLowerCase().includes(wanted) && (states[state]?.is(t) ?? true));
  const picked = shown.filter((t) => chosen.has(t.id));
  const pick = choice(chosen, (t, on) => setChosen(new Set(on ? [...chosen, t.id] : [...chosen].filter((id) => id !== t.id))));
  const numbers = new Map((usage.data?.groups ?? []).map((g) => [g.toolsetId ?? "", g.totals]));

  return (
    <Page title="Toolsets" lead="Each one is a set of tools that agents call at one URL." actions={<CreateToolset />}>
      {toolsets.isError ? <ProblemNote error={toolsets.error} retry={() => void toolsets.refetch()} /> : null}
      {toolsets.isPending ? <Skeleton /> : null}
      {toolsets.data && items.length === 0 ? <NoToolsets /> : null}
      {items.length > 0 ? (
        <Card flush>
          <div className="flex flex-wrap items-center gap-2 border-b border-line p-3">
            <SearchField label="Filter by name or status" value={word} onChange={(e) => setWord(e.target.value)} />
            <Select label="Status" hidden value={state} onChange={(e) => setState(e.target.value)}>
              <option value="">Any status</option>
              {Object.entries(states).map(([id, { name }]) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </Select>
            {picked.length > 0 ? <PauseButtons toolsets={picked} done={() => setChosen(new Set())} /> : null}
          </div>
          {shown.length > 0 ? (
            <Table label="Toolsets" columns={[...(editor ? [pick] : []), ...columns(numbers)]} rows={shown} id={(t) => t.id} />
          ) : (
            <p className="p-4 text-muted">None of the {items.length} toolsets that are loaded is like that.</p>
          )}
          {toolsets.hasNextPage ? (
            <div className="border-t border-line p-3">
              <Button busy={toolsets.isFetchingNextPage} onClick={() => void toolsets.fetchNextPage()}>
                Load more
              </Button>
            </div>
          ) : null}
        </Card>
      ) : null}
      <CommandLine command="sluice toolset list" />
    </Page>
  );
}
