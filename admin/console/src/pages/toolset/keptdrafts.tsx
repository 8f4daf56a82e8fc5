import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { ago, date } from "../../lib/format";
import { toolsetQuery } from "../../lib/queries";
import { useCan } from "../../lib/session";

type Kept = Schemas["KeptDraft"];
type Act = { draft: Kept; verb: "apply" | "drop" };

const columns: Column<Kept>[] = [
  { name: "Name", cell: (d) => <code className="font-mono break-all">{d.name}</code> },
  { name: "Since", cell: (d) => <time dateTime={d.createdAt} title={date(d.createdAt)} className="whitespace-nowrap">{ago(d.createdAt)}</time> },
  { name: "Why", wide: true, cell: (d) => <span className="break-words">{d.reason ?? ""}</span> },
];

const actions = (act: (act: Act) => void): Column<Kept> => ({
  name: "Action",
  cell: (draft) => (
    <span className="flex flex-wrap gap-2">
      <Button onClick={() => act({ draft, verb: "apply" })} aria-label={`Restore ${draft.name}`}>
        Restore
      </Button>
      <Button onClick={() => act({ draft, verb: "drop" })} aria-label={`Delete ${draft.name}`}>
        Delete
      </Button>
    </span>
  ),
});

/** The drafts that roll-backs set aside; nothing where there is none. */
export function KeptDrafts({ slug }: { slug: string }) {
  const queries = useQueryClient();
  const drafts = useQuery({
    queryKey: ["toolset", slug, "drafts"],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/drafts", { params: { path: { id: slug } } })),
  });
  const editor = useCan("editor");
  const [chosen, setChosen] = useState<Act | null>(null);
  if (drafts.isError) return <ProblemNote error={drafts.error} retry={() => void drafts.refetch()} />;
  const items = drafts.data?.items ?? [];
  if (items.length === 0) return null;
  const restores = chosen?.verb === "apply";
  const restore = async (name: string) => {
    const { etag } = await queries.fetchQuery({ ...toolsetQuery(slug), staleTime: 0 });
    return unwrap(api.POST("/v1/toolsets/{id}/drafts/{name}/apply", { params: { path: { id: slug, name }, header: { "If-Match": etag } } }));
  };
  return (
    <Card title="Drafts that were set aside" flush>
      <Table label="Drafts that were set aside" columns={editor ? [...columns, actions(setChosen)] : columns} rows={items} id={(d) => d.name} />
      <Confirm
        title={`${restores ? "Restore" : "Delete"} ${chosen?.draft.name ?? ""}`}
        of={chosen}
        action={restores ? "Make it the draft" : "Delete it"}
        command={`sluice toolset draft ${chosen?.verb} ${slug} ${chosen?.draft.name}`}
        run={({ draft: { name }, verb }) => (verb === "apply" ? restore(name) : unwrap(api.DELETE("/v1/toolsets/{id}/drafts/{name}", { params: { path: { id: slug, name } } })))}
        stale={["toolset", slug]}
        close={() => setChosen(null)}
      >
        <p>{restores ? "It becomes the draft again, and nothing becomes live by that. It stays in this list until it is deleted." : "What it held cannot be brought back."}</p>
      </Confirm>
    </Card>
  );
}
