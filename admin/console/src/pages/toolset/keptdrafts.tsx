import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { CodeBlock } from "../../components/copy";
import { Dialog } from "../../components/dialog";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { ago, date } from "../../lib/format";
import { toolsetQuery } from "../../lib/queries";
import { useCan } from "../../lib/session";

type Kept = Schemas["KeptDraft"];

/** So many characters of a draft are shown; the command shows all. */
const SHOWN = 200_000;

type Act = { draft: Kept; verb: "apply" | "drop" };

const columns: Column<Kept>[] = [
  { name: "Name", cell: (d) => <code className="font-mono break-all">{d.name}</code> },
  { name: "Since", cell: (d) => <time dateTime={d.createdAt} title={date(d.createdAt)} className="whitespace-nowrap">{ago(d.createdAt)}</time> },
  { name: "Why", wide: true, cell: (d) => <span className="break-words">{d.reason ?? ""}</span> },
];

const actions = (show: (name: string) => void, act: ((act: Act) => void) | undefined): Column<Kept> => ({
  name: "Action",
  cell: (draft) => (
    <span className="flex flex-wrap gap-2">
      <Button onClick={() => show(draft.name)} aria-label={`Show ${draft.name}`}>
        Show
      </Button>
      {act ? <Change draft={draft} act={act} /> : null}
    </span>
  ),
});

const Change = ({ draft, act }: { draft: Kept; act: (act: Act) => void }) => (
  <>
    <Button onClick={() => act({ draft, verb: "apply" })} aria-label={`Restore ${draft.name}`}>
      Restore
    </Button>
    <Button onClick={() => act({ draft, verb: "drop" })} aria-label={`Delete ${draft.name}`}>
      Delete
    </Button>
  </>
);

/** What a draft that was set aside holds: settings, connectors and edits of tools. */
function Content({ slug, name, close }: { slug: string; name: string; close: () => void }) {
  const draft = useQuery({
    queryKey: ["toolset", slug, "drafts", name],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/drafts/{name}", { params: { path: { id: slug, name } } })),
    enabled: name !== "",
  });
  return (
    <Dialog title={name} open={name !== ""} onClose={close} wide>
      {draft.isError ? <ProblemNote error={draft.error} retry={() => void draft.refetch()} /> : null}
      {draft.data ? <CodeBlock low label={`the draft ${name}`} text={JSON.stringify(draft.data.document, null, 2).slice(0, SHOWN)} /> : null}
      <p className="mt-3 text-muted">
        The same in a terminal:{" "}
        <code className="font-mono break-words text-text">
          sluice toolset draft show {slug} {name}
        </code>
      </p>
      <div className="mt-4 flex justify-end">
        <Button onClick={close}>Close</Button>
      </div>
    </Dialog>
  );
}

/** The drafts that roll-backs set aside; nothing where there is none. */
export function KeptDrafts({ slug }: { slug: string }) {
  const queries = useQueryClient();
  const drafts = useQuery({
    queryKey: ["toolset", slug, "drafts"],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/drafts", { params: { path: { id: slug } } })),
  });
  const editor = useCan("editor");
  const [chosen, setChosen] = useState<Act | null>(null);
  const [shown, setShown] = useState("");
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
      <Table label="Drafts that were set aside" columns={[...columns, actions(setShown, editor ? setChosen : undefined)]} rows={items} id={(d) => d.name} />
      <Content slug={slug} name={shown} close={() => setShown("")} />
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
