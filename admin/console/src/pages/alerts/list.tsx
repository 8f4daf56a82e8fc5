import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { CommandLine } from "../../components/copy";
import { Select } from "../../components/field";
import { Moment } from "../../components/moment";
import { More } from "../../components/more";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Table, type Column } from "../../components/table";
import { alertsQuery, type Alert } from "./queries";
import { AlertState, Severity } from "./state";

const columns = (open: boolean): Column<Alert>[] => [
  { name: "Severity", cell: (a) => <Severity severity={a.severity} /> },
  {
    name: "What",
    cell: (a) => (
      <>
        <Link to="/alerts/$id" params={{ id: a.id }} className="font-medium text-accent hover:underline">
          {a.title}
        </Link>
        <span className="block font-mono text-[0.86rem] text-muted">{a.kind}</span>
      </>
    ),
  },
  { name: "State", cell: (a) => <AlertState alert={a} /> },
  { name: "Calls", number: true, wide: true, cell: (a) => a.details.calls ?? "–" },
  open
    ? { name: "Since", cell: (a) => <Moment at={a.since} /> }
    : { name: "Over since", cell: (a) => (a.resolvedAt ? <Moment at={a.resolvedAt} /> : "–") },
];

function List({ open }: { open: boolean }) {
  const [severity, setSeverity] = useState<Alert["severity"] | "">("");
  const alerts = useInfiniteQuery(alertsQuery(open, severity));
  const items = alerts.data?.pages.flatMap((p) => p.items) ?? [];
  return (
    <>
      {alerts.isError ? <ProblemNote error={alerts.error} retry={() => void alerts.refetch()} /> : null}
      {alerts.isPending ? <Skeleton rows={4} /> : null}
      {alerts.data ? (
        <Card flush>
          <div className="grid border-b border-line p-3 sm:grid-cols-[16rem]">
            <Select label="Severity" hidden value={severity} onChange={(e) => setSeverity(e.target.value as typeof severity)}>
              <option value="">Every severity</option>
              <option value="critical">Critical</option>
              <option value="warning">Warning</option>
              <option value="info">Info</option>
            </Select>
          </div>
          {items.length > 0 ? (
            <Table label={open ? "Active alerts" : "Alerts that are over"} columns={columns(open)} rows={items} id={(a) => a.id} />
          ) : (
            <p className="p-4 text-muted">{severity ? "None of this severity." : open ? "Nothing is wrong." : "No alert was resolved in the last 90 days."}</p>
          )}
          <More list={alerts} />
        </Card>
      ) : null}
      <CommandLine command={open ? "sluice alert list" : "sluice alert list --state resolved"} />
    </>
  );
}

export const ActiveAlerts = () => <List open />;
export const AlertHistory = () => <List open={false} />;
