import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { buttonClass } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { SearchField, Select } from "../../components/field";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { count, plural } from "../../lib/format";
import { shellWord } from "../../lib/clients";
import { useSettled } from "../../lib/settled";
import { entriesQuery, type Outline } from "./queries";

export const kindNames = { openapi: "REST API", mcp: "MCP server" } as const;

const columns: Column<Outline>[] = [
  {
    name: "Connector",
    cell: (e) => (
      <>
        <Link to="/catalog/$entry" params={{ entry: e.id }} className="font-medium text-accent hover:underline">
          {e.name}
        </Link>
        <span className="block text-muted">{e.summary}</span>
        {e.usedBy?.length ? (
          <span className="mt-1 flex flex-wrap gap-1">
            <Badge tone="ok">{plural(e.usedBy.length, "toolset")}</Badge>
            {e.updates ? <Badge tone="warn">{count(e.updates)} to update</Badge> : null}
          </span>
        ) : null}
      </>
    ),
  },
  { name: "Category", cell: (e) => e.category },
  { name: "Kind", wide: true, cell: (e) => <span className="whitespace-nowrap">{kindNames[e.kind]}</span> },
  { name: "Tools", number: true, cell: (e) => (e.tools > 0 ? count(e.tools) : "all") },
  { name: "Definitions", number: true, cell: (e) => <Saving entry={e} /> },
];

/** What the tools of an entry cost, as it was measured. */
function Saving({ entry: e }: { entry: Outline }) {
  if (!e.verified) return <span className="text-muted">not measured</span>;
  const less = e.savedPercent ?? 0;
  return (
    <span className="whitespace-nowrap">
      {plural(e.tokens ?? 0, "token")}
      {less > 0 ? <span className="block text-ok">−{less} %</span> : null}
    </span>
  );
}

export function Entries() {
  const [word, setWord] = useState("");
  const [category, setCategory] = useState("");
  const [kind, setKind] = useState<Outline["kind"] | "">("");
  const q = useSettled(word.trim());
  const all = useQuery(entriesQuery({}));
  const found = useQuery(entriesQuery({ ...(q ? { q } : {}), ...(category ? { category } : {}), ...(kind ? { kind } : {}) }));
  const categories = Array.from(new Set((all.data?.items ?? []).map((e) => e.category))).sort();
  if (found.isError) return <ProblemNote error={found.error} retry={() => void found.refetch()} />;
  if (found.isPending) return <Skeleton rows={8} />;
  const items = found.data.items;
  const filters = `${category ? ` --category ${category}` : ""}${kind ? ` --kind ${kind}` : ""}`;
  return (
    <>
      <Card flush>
        <div className="grid items-center gap-3 border-b border-line p-3 sm:grid-cols-[1fr_1fr_1fr_auto]">
          <SearchField label="Search the catalog" value={word} maxLength={200} onChange={(e) => setWord(e.target.value)} />
          <Select label="Category" hidden value={category} onChange={(e) => setCategory(e.target.value)}>
            <option value="">Every category</option>
            {categories.map((c) => (
              <option key={c} value={c}>
                {c}
              </option>
            ))}
          </Select>
          <Select label="Kind" hidden value={kind} onChange={(e) => setKind(e.target.value as typeof kind)}>
            <option value="">REST APIs and MCP servers</option>
            <option value="openapi">REST APIs</option>
            <option value="mcp">MCP servers</option>
          </Select>
          <p role="status" className="text-muted tabular-nums">
            {plural(items.length, "connector")}
          </p>
        </div>
        {items.length > 0 ? (
          <Table label="Connectors" columns={columns} rows={items} id={(e) => e.id} />
        ) : (
          <div className="space-y-3 p-4">
            <p className="text-muted">No connector fits. An API with an OpenAPI document needs none.</p>
            <p className="flex flex-wrap gap-2">
              <Link to="/catalog/requests/new" search={q ? { name: q.slice(0, 80) } : {}} className={buttonClass("primary")}>
                Request this connector
              </Link>
              <Link to="/toolsets/new" className={buttonClass()}>
                Create from an OpenAPI specification
              </Link>
            </p>
          </div>
        )}
      </Card>
      <CommandLine command={q ? `sluice catalog search ${shellWord(q)}${filters}` : `sluice catalog list${filters}`} />
    </>
  );
}
