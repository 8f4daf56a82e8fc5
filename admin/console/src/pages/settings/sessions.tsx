import { infiniteQueryOptions, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Button } from "../../components/button";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { ago, date } from "../../lib/format";

type OpenSession = Schemas["OpenSession"];

const sessionsQuery = infiniteQueryOptions({
  queryKey: ["sessions"],
  queryFn: ({ pageParam }) => unwrap(api.GET("/v1/sessions", { params: { query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } } })),
  initialPageParam: "",
  getNextPageParam: (page) => page.nextCursor,
});

const columns: Column<OpenSession>[] = [
  { name: "Who", cell: (s) => s.name },
  { name: "Role", cell: (s) => s.role },
  { name: "From", cell: (s) => <span title={s.agent}>{s.address}</span> },
  { name: "Signed in", wide: true, cell: (s) => <time dateTime={s.createdAt}>{date(s.createdAt)}</time> },
  { name: "Seen", cell: (s) => <time dateTime={s.seenAt} className="whitespace-nowrap">{ago(s.seenAt)}</time> },
  { name: "Action", cell: (s) => (s.current ? <Badge tone="ok">This one</Badge> : <EndSession session={s} />) },
];

/** Browsers that are signed in: one's own, or as an administrator those of the workspace. */
export function Sessions() {
  const sessions = useInfiniteQuery(sessionsQuery);
  if (sessions.isError) return <ProblemNote error={sessions.error} retry={() => void sessions.refetch()} />;
  if (sessions.isPending) return <Skeleton rows={2} />;
  return (
    <Card title="Sessions" flush>
      <Table label="Sessions" columns={columns} rows={sessions.data.pages.flatMap((p) => p.items)} id={(s) => s.id} />
      {sessions.hasNextPage ? (
        <div className="border-t border-line p-3">
          <Button busy={sessions.isFetchingNextPage} onClick={() => void sessions.fetchNextPage()}>
            Load more
          </Button>
        </div>
      ) : null}
    </Card>
  );
}

function EndSession({ session }: { session: OpenSession }) {
  const queries = useQueryClient();
  const end = useMutation({
    mutationFn: () => unwrap(api.DELETE("/v1/sessions/{id}", { params: { path: { id: session.id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["sessions"] }),
  });
  return (
    <>
      <Button busy={end.isPending} onClick={() => end.mutate()} aria-label={`End the session of ${session.name} from ${session.address}`}>
        End
      </Button>
      {end.isError ? <ProblemNote error={end.error} /> : null}
    </>
  );
}
