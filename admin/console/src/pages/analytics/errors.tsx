import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CommandLine } from "../../components/copy";
import { Moment } from "../../components/moment";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Table, type Column } from "../../components/table";
import type { Schemas } from "../../lib/api";
import { count } from "../../lib/format";
import { useAnalytics } from "./analytics";
import { errorsOf } from "./queries";
import type { Range } from "./search";

type Cause = Schemas["UsageCause"];
type Sample = Schemas["UsageSample"];

const causes = (range: Range): Column<Cause>[] => [
  {
    name: "Cause",
    cell: (c) => (
      <Link
        to="/analytics/calls"
        search={{ range, tool: c.tool, cause: c.cause, ...(c.toolset ? { toolset: c.toolset } : {}) }}
        className="font-mono text-accent hover:underline"
      >
        {c.cause}
      </Link>
    ),
  },
  { name: "Toolset", cell: (c) => c.toolset ?? "deleted" },
  { name: "Tool", cell: (c) => <span className="block min-w-40 font-mono break-all">{c.tool}</span> },
  { name: "Calls", number: true, cell: (c) => count(c.calls) },
];

const samples: Column<Sample>[] = [
  { name: "When", cell: (s) => <Moment at={s.at} /> },
  { name: "Tool", cell: (s) => <span className="block min-w-40 font-mono break-all">{s.tool}</span> },
  { name: "Cause", cell: (s) => <span className="font-mono">{s.cause}</span> },
  { name: "What the agent was told", cell: (s) => <span className="block min-w-56 break-words whitespace-pre-line">{s.text}</span> },
];

export function ErrorsPage() {
  const { range, toolset } = useAnalytics();
  const errors = useQuery(errorsOf(range, toolset));
  return (
    <>
      {errors.isError ? <ProblemNote error={errors.error} retry={() => void errors.refetch()} /> : null}
      {errors.isPending ? <Skeleton rows={4} /> : null}
      {errors.data ? (
        <div className="space-y-5">
          <Card title="Causes" flush>
            {errors.data.causes.length > 0 ? (
              <Table label="Causes" columns={causes(range)} rows={errors.data.causes} id={(c) => `${c.toolsetId} ${c.tool} ${c.cause}`} />
            ) : (
              <p className="p-4 text-muted">No call failed in this range.</p>
            )}
          </Card>
          {errors.data.samples.length > 0 ? (
            <Card title="Samples" flush>
              <p className="border-b border-line px-4 py-3 text-muted">Of the last seven days. What looks like a secret or names a person was taken out.</p>
              <Table label="Samples" columns={samples} rows={errors.data.samples} id={(s) => `${s.at} ${s.toolsetId} ${s.tool}`} />
            </Card>
          ) : null}
        </div>
      ) : null}
      <CommandLine command={`sluice usage${toolset ? ` ${toolset}` : ""} --errors --since ${range}`} />
    </>
  );
}
