import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { Dialog } from "../../components/dialog";
import { TextField } from "../../components/field";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { revisionColumns } from "../../components/revisions";
import { Skeleton } from "../../components/skeleton";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { revisionsQuery, rolloutsQuery, toolsetQuery } from "../../lib/queries";
import { can } from "../../lib/roles";
import { sessionQuery } from "../../lib/session";
import { KeptDrafts } from "./keptdrafts";
import { DraftPreview, previewQuery } from "./preview";
import { Rollouts } from "./rollouts";

type Revision = Schemas["Revision"];

const columns: Column<Revision>[] = [
  ...revisionColumns,
  { name: "Content", wide: true, cell: (r) => <code className="font-mono text-[0.9rem] text-muted" title={r.digest}>{r.digest.slice(7, 19)}</code> },
];

const action = (rollBack: (r: Revision) => void): Column<Revision> => ({
  name: "Action",
  cell: (r) =>
    r.live ? null : (
      <Button onClick={() => rollBack(r)} aria-label={`Roll back to revision ${r.n}`}>
        Roll back
      </Button>
    ),
});

export function Revisions() {
  const { slug } = useParams({ from: "/toolsets/$slug" });
  const revisions = useInfiniteQuery(revisionsQuery(slug));
  const session = useQuery(sessionQuery);
  const [chosen, setChosen] = useState<Revision | null>(null);
  const allowed = can(session.data?.role, "editor");
  const toolset = useQuery(toolsetQuery(slug));
  // All at once, so that no card moves the others when it comes.
  const others = [useQuery(rolloutsQuery(slug)).isPending, useQuery(previewQuery(slug)).isPending];

  if (revisions.isError) return <ProblemNote error={revisions.error} retry={() => void revisions.refetch()} />;
  if (revisions.isPending || others.includes(true)) return <Skeleton />;
  const items = revisions.data.pages.flatMap((p) => p.items);
  return (
    <div className="space-y-5">
      {toolset.data ? <Rollouts toolset={toolset.data.data} /> : null}
      <Card title="Published" flush>
        {items.length > 0 ? (
          <Table label="Revisions" columns={allowed && items.length > 1 ? [...columns, action(setChosen)] : columns} rows={items} id={(r) => String(r.n)} />
        ) : (
          <p className="p-4 text-muted">Nothing was deployed yet.</p>
        )}
        {revisions.hasNextPage ? (
          <div className="border-t border-line p-3">
            <Button busy={revisions.isFetchingNextPage} onClick={() => void revisions.fetchNextPage()}>
              Load more
            </Button>
          </div>
        ) : null}
      </Card>
      <DraftPreview slug={slug} />
      <KeptDrafts slug={slug} />
      <RollBack slug={slug} revision={chosen} close={() => setChosen(null)} />
      <CommandLine command={`sluice toolset history ${slug}`} />
    </div>
  );
}

function RollBack({ slug, revision, close }: { slug: string; revision: Revision | null; close: () => void }) {
  const queries = useQueryClient();
  const toolset = useQuery(toolsetQuery(slug));
  const rollBack = useMutation({
    mutationFn: (body: Schemas["RollbackRequest"]) =>
      unwrap(
        api.POST("/v1/toolsets/{id}/rollback", {
          params: { path: { id: slug }, header: { "If-Match": toolset.data?.etag ?? "" } },
          body,
        }),
      ),
    onSuccess: () => close(),
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  const shut = () => {
    rollBack.reset();
    close();
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const reason = String(new FormData(event.currentTarget).get("reason") ?? "").trim();
    rollBack.mutate({ revision: revision?.n, ...(reason ? { reason } : {}) });
  };
  return (
    <Dialog title={`Roll back to revision ${revision?.n ?? ""}`} open={revision !== null} onClose={shut}>
      <form onSubmit={submit} className="space-y-4">
        <p className="text-muted">Its content is published at once as a new revision. What the draft holds now is kept aside.</p>
        <TextField label="Why" name="reason" hint="For the audit log; may be empty" maxLength={500} />
        {rollBack.isError ? <ProblemNote error={rollBack.error} /> : null}
        <p className="text-muted">
          The same in a terminal: <code className="font-mono text-text">sluice toolset rollback {slug} {revision?.n}</code>
        </p>
        <div className="flex justify-end gap-2">
          <Button onClick={shut}>Cancel</Button>
          <Button kind="primary" type="submit" busy={rollBack.isPending}>
            Roll back
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
