import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { CommandLine } from "../../components/copy";
import { External } from "../../components/external";
import { Card, Fact, Page } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { type Schemas } from "../../lib/api";
import { plural, saved, sentence } from "../../lib/format";
import { useCan } from "../../lib/session";
import { AddEntry } from "./add";
import { kindNames } from "./entries";
import { entriesQuery, entryQuery, type Entry } from "./queries";

const columns: Column<Schemas["EntryTool"]>[] = [
  { name: "Tool", cell: (t) => <span className="font-mono font-medium whitespace-nowrap">{t.name}</span> },
  { name: "What it does", cell: (t) => <span className="block min-w-80 text-muted">{t.description ?? "As the vendor says"}</span> },
  { name: "Operation", wide: true, cell: (t) => <span className="font-mono text-[0.86rem] break-all text-muted">{t.operation}</span> },
];

export function EntryPage() {
  const { entry: id } = useParams({ from: "/catalog/$entry" });
  const entry = useQuery(entryQuery(id));
  const editor = useCan("editor");
  if (entry.isError || entry.isPending) {
    return <Page title={id}>{entry.isError ? <ProblemNote error={entry.error} retry={() => void entry.refetch()} /> : <Skeleton />}</Page>;
  }
  const e = entry.data;
  return (
    <Page
      key={e.id}
      title={e.name}
      lead={
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <Link to="/catalog" className="text-accent underline">Catalog</Link>
          <span>{sentence(e.summary)}</span>
        </span>
      }
    >
      <div className="space-y-5">
        <div className="grid items-start gap-5 lg:grid-cols-2">
          <About entry={e} />
          {editor ? <AddEntry key={e.id} entry={e} /> : <Card title="Add"><p className="text-muted">Editors and administrators add connectors.</p></Card>}
        </div>
        <Uses id={e.id} />
        <Card title={e.tools?.length ? `Tools (${e.tools.length})` : "Tools"} flush>
          {e.tools?.length ? <Table label="Tools" columns={columns} rows={e.tools} id={(t) => t.name} /> : <p className="p-4 text-muted">All that the MCP server offers when it is added.</p>}
        </Card>
      </div>
      <CommandLine command={`sluice catalog add ${e.id}`} />
    </Page>
  );
}

/** The toolsets that were made of an entry, and those that have an older version of it. */
function Uses({ id }: { id: string }) {
  const uses = useQuery(entriesQuery({})).data?.items.find((e) => e.id === id)?.usedBy ?? [];
  if (uses.length === 0) return null;
  return (
    <Card title="Toolsets made of it" flush>
      <ul className="divide-y divide-line">
        {uses.map((u) => (
          <li key={`${u.toolset} ${u.connector}`} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5">
            <Link to="/toolsets/$slug" params={{ slug: u.toolset }} className="font-medium text-accent hover:underline">
              {u.toolset}
            </Link>
            <span className="text-muted">
              {u.connector}, version <code className="font-mono">{u.version}</code>
            </span>
            {u.update ? <Badge tone="warn">Update waits</Badge> : <Badge tone="ok">As it is here</Badge>}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function About({ entry: e }: { entry: Entry }) {
  const kind = e.source.mcp ? "mcp" : "openapi";
  return (
    <Card title="About">
      <dl>
        <Fact name="Kind">{kindNames[kind]}</Fact>
        <Fact name="Category">{e.category}</Fact>
        <Fact name="From">{e.from === "operator" ? "The operator of this node" : "The catalog of Sluice"}</Fact>
        <Fact name="Documentation"><External href={e.documentation}>{e.documentation}</External></Fact>
        <Fact name="Source"><span className="break-all">{e.source.mcp?.url ?? e.source.openapi?.url}</span></Fact>
        <Fact name="Calls go to">{e.base?.url ?? (e.base?.ask ? sentence(e.base.ask) : "Where the source says")}</Fact>
        <Fact name="Verified">
          {e.verified ? <Badge tone="ok">With version {e.verified.version}</Badge> : <Badge tone="plain">No</Badge>}
        </Fact>
        {e.verified ? (
          <Fact name="Definitions">
            {plural(e.verified.tokens, "token")} instead of {plural(e.verified.generatedTokens, "token")} ({saved(e.verified.generatedTokens, e.verified.tokens)})
          </Fact>
        ) : null}
      </dl>
      <h3 className="mt-4 mb-2 font-semibold">Authentication</h3>
      {e.authentication.length === 0 ? <p className="text-muted">None is needed.</p> : null}
      <ul className="space-y-2">
        {e.authentication.map((a, i) => (
          <li key={`${i} ${a.key}`}>
            {sentence(a.key)} {a.keyUrl ? <>It is made at <External href={a.keyUrl}>{a.keyUrl}</External></> : null}
            {a.readOnly?.length ? <span className="block text-muted">To read only: {a.readOnly.join(", ")}</span> : null}
          </li>
        ))}
      </ul>
    </Card>
  );
}
