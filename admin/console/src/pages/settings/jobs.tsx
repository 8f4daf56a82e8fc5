import { infiniteQueryOptions, useInfiniteQuery } from "@tanstack/react-query";
import { More } from "../../components/more";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { ago, capital, date } from "../../lib/format";

type Job = Schemas["Job"];

export const jobsQuery = infiniteQueryOptions({
  queryKey: ["jobs", "list"],
  queryFn: ({ pageParam }) => unwrap(api.GET("/v1/jobs", { params: { query: { limit: 20, ...(pageParam ? { cursor: pageParam } : {}) } } })),
  initialPageParam: "",
  getNextPageParam: (page) => page.nextCursor,
});

const states = { running: <Badge tone="plain">Runs</Badge>, succeeded: <Badge tone="ok">Done</Badge>, failed: <Badge tone="bad">Failed</Badge> };

const columns: Column<Job>[] = [
  { name: "What", cell: (j) => <code className="font-mono text-[0.9rem]">{j.kind}</code> },
  {
    name: "State",
    cell: (j) => (
      <>
        {states[j.state]}
        {j.error ? <span className="block break-words text-bad">{capital(j.error.detail ?? j.error.title)}</span> : null}
        {j.state === "running" && j.phase ? <span className="block text-muted">{j.phase}</span> : null}
      </>
    ),
  },
  { name: "Began", cell: (j) => <time dateTime={j.startedAt} title={date(j.startedAt)} className="whitespace-nowrap">{ago(j.startedAt)}</time> },
  { name: "Of", wide: true, cell: (j) => <code className="font-mono text-[0.86rem] break-all text-muted">{j.resource ?? ""}</code> },
];

/** Work that outlasts its request: reading a specification, a test, publishing a plugin. */
export function Jobs() {
  const jobs = useInfiniteQuery(jobsQuery);
  const items = jobs.data?.pages.flatMap((p) => p.items) ?? [];
  return (
    <>
      {jobs.isError ? <ProblemNote error={jobs.error} retry={() => void jobs.refetch()} /> : null}
      {jobs.isPending ? <Skeleton rows={2} /> : null}
      {jobs.data ? (
        <Card title="Work" flush>
          {items.length > 0 ? <Table label="Work" columns={columns} rows={items} id={(j) => j.id} /> : <p className="p-4 text-muted">Nothing outlasted its request yet. What does is listed here, with how far it is.</p>}
          <More list={jobs} />
          <p className="border-t border-line px-4 py-2 text-muted">
            The same in a terminal: <code className="font-mono text-text">sluice job list</code>
          </p>
        </Card>
      ) : null}
    </>
  );
}
