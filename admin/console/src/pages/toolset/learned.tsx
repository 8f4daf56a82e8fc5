import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { ago, count, date, plural } from "../../lib/format";
import { useCan } from "../../lib/session";

type Learned = Schemas["LearnedRequest"];

/** So many are shown; the command lists all. */
const SHOWN = 100;

const columns: Column<Learned>[] = [
  { name: "Search", cell: (l) => <span className="break-words">{l.query}</span> },
  { name: "Tool", cell: (l) => <code className="font-mono break-all">{l.tool || `${l.operation.method} ${l.operation.path}`}</code> },
  { name: "Uses", number: true, wide: true, cell: (l) => count(l.uses) },
  { name: "In the draft", wide: true, cell: (l) => (l.used ? "Yes" : "No") },
  { name: "Last", wide: true, cell: (l) => <time dateTime={l.lastAt} title={date(l.lastAt)} className="whitespace-nowrap">{ago(l.lastAt)}</time> },
];

const action = (forget: (l: Learned) => void): Column<Learned> => ({
  name: "Action",
  cell: (l) => (
    <Button onClick={() => forget(l)} aria-label={`Delete “${l.query}”`}>
      Delete
    </Button>
  ),
});

/** The searches that successful calls followed; nothing where the toolset neither learns nor learned. */
export function LearnedSearches({ slug }: { slug: string }) {
  const queries = useQueryClient();
  const learned = useQuery({
    queryKey: ["toolset", slug, "learned"],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/learned", { params: { path: { id: slug }, query: { limit: SHOWN } } })),
  });
  const editor = useCan("editor");
  const [chosen, setChosen] = useState<Learned | "all" | null>(null);
  const use = useMutation({
    mutationFn: () => unwrap(api.POST("/v1/toolsets/{id}/learned/use", { params: { path: { id: slug } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  if (learned.isError) return <ProblemNote error={learned.error} retry={() => void learned.refetch()} />;
  if (!learned.data || (!learned.data.learn && learned.data.items.length === 0)) return null;
  const { items, total } = learned.data;
  const one = chosen === "all" ? null : chosen;
  return (
    <Card title="Learned searches" flush actions={editor && items.length > 0 ? <Button onClick={() => setChosen("all")}>Delete all</Button> : undefined}>
      {items.length > 0 ? (
        <Table label="Learned searches" columns={editor ? [...columns, action(setChosen)] : columns} rows={items} id={(l) => `${l.operation.method} ${l.operation.path} ${l.query}`} />
      ) : (
        <p className="p-4 text-muted">None yet: a search of an agent is kept, without what is personal in it, when a call of a tool that it found succeeds.</p>
      )}
      <div className="space-y-2 border-t border-line p-4">
        {total > items.length ? <p className="text-muted">The first {count(items.length)} of {plural(total, "search", "searches")}.</p> : null}
        {use.isError ? <ProblemNote error={use.error} /> : null}
        {editor && items.some((l) => !l.used) ? (
          <Button busy={use.isPending} onClick={() => use.mutate()}>
            Take them into the draft
          </Button>
        ) : null}
        <p className="text-muted">
          The same in a terminal: <code className="font-mono break-words text-text">sluice toolset learned {slug}</code>
        </p>
      </div>
      <Confirm
        title={one ? "Delete a learned search" : "Delete all learned searches"}
        of={chosen}
        action="Delete"
        command={`sluice toolset learned ${slug} ${one ? `${one.tool ? `--tool ${one.tool} ` : ""}--forget ${shellWord(one.query)}` : "--forget-all"}`}
        run={(which) =>
          unwrap(api.DELETE("/v1/toolsets/{id}/learned", { params: { path: { id: slug }, ...(which === "all" ? {} : { query: { query: which.query, ...(which.tool ? { tool: which.tool } : {}) } }) } }))
        }
        stale={["toolset", slug]}
        close={() => setChosen(null)}
      >
        <p>{one ? `“${one.query}” leaves the draft too` : "They leave the draft too"}, and {one ? "is" : "are"} not learned again.</p>
      </Confirm>
    </Card>
  );
}
