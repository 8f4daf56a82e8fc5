import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../../components/button";
import { CodeBlock, CommandLine } from "../../components/copy";
import { More } from "../../components/more";
import { Card, Page } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Table, type Column } from "../../components/table";
import { count, percent, saved } from "../../lib/format";
import { useCan } from "../../lib/session";
import { PublishPlugin } from "./publish";
import { pluginsQuery, type Plugin } from "./queries";
import { VersionState } from "./state";

const columns: Column<Plugin>[] = [
  {
    name: "Plugin",
    cell: (p) => (
      <>
        <Link to="/plugins/$name" params={{ name: p.name }} className="font-mono font-medium text-accent hover:underline">
          {p.name}
        </Link>
        {p.description ? <span className="block text-muted">{p.description}</span> : null}
      </>
    ),
  },
  { name: "Kind", cell: (p) => p.kind },
  { name: "Version", cell: (p) => p.versions[0]?.version ?? "" },
  { name: "State", cell: (p) => (p.versions[0] ? <VersionState version={p.versions[0]} /> : null) },
  { name: "Publisher", wide: true, cell: (p) => p.versions[0]?.signature.publisher ?? "" },
  { name: "Tokens", number: true, wide: true, cell: (p) => saved(p.versions[0]?.measured.tokensBefore ?? 0, p.versions[0]?.measured.tokensAfter ?? 0) },
  { name: "Calls", number: true, cell: (p) => count(p.versions[0]?.live.calls ?? 0) },
  { name: "Errors", number: true, wide: true, cell: (p) => percent(p.versions[0]?.live.errors ?? 0, p.versions[0]?.live.calls ?? 0) },
];

export function Plugins() {
  const plugins = useInfiniteQuery(pluginsQuery);
  const items = plugins.data?.pages.flatMap((p) => p.items) ?? [];
  const publisher = useCan("publisher");
  const [publishing, setPublishing] = useState(false);
  return (
    <Page
      title="Plugins"
      lead="WebAssembly that filters answers, rewrites them, runs workflows or signs requests, in a sandbox."
      actions={publisher ? <Button onClick={() => setPublishing(true)}>Publish a plugin</Button> : undefined}
    >
      {plugins.isError ? <ProblemNote error={plugins.error} retry={() => void plugins.refetch()} /> : null}
      {plugins.isPending ? <Skeleton rows={4} /> : null}
      {plugins.data && items.length === 0 ? (
        <Card title="No plugin is published">
          <p className="mb-3 text-muted">Most toolsets need none: projections and masks are settings. A plugin is code for what they cannot do.</p>
          <div className="space-y-2">
            <CodeBlock label="the command that begins a plugin" text="sluice plugin new mask --kind filter --lang go" />
            <CodeBlock label="the command that publishes a plugin" text="sluice plugin publish mask --key publisher.key" />
          </div>
        </Card>
      ) : null}
      {items.length > 0 ? (
        <Card flush>
          <Table label="Plugins" columns={columns} rows={items} id={(p) => p.name} />
          <More list={plugins} />
        </Card>
      ) : null}
      <p className="mt-3 text-muted">
        Only what a trusted publisher signed is published:{" "}
        <Link to="/settings/publishers" className="text-accent underline">
          their keys
        </Link>
        .{publisher ? "" : " Publishing needs the role publisher."}
      </p>
      <PublishPlugin open={publishing} close={() => setPublishing(false)} />
      <CommandLine command="sluice plugin list" />
    </Page>
  );
}
