import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { ago, capital, count, date } from "../../lib/format";
import { every } from "../../lib/live";

type Release = Schemas["Release"];

const RELEASES = ["edges", "releases"];

export const releasesQuery = queryOptions({ queryKey: RELEASES, queryFn: () => unwrap(api.GET("/v1/releases")) });

export const planesQuery = queryOptions({ queryKey: ["control-planes"], queryFn: () => unwrap(api.GET("/v1/control-planes")), refetchInterval: every(10_000) });

const columns: Column<Release>[] = [
  { name: "Group of edges", cell: (r) => <code className="font-mono text-[0.9rem] break-all">{r.group || "all"}</code> },
  { name: "Release", number: true, cell: (r) => count(r.revision) },
  { name: "Epoch", number: true, wide: true, cell: (r) => count(r.epoch) },
  { name: "Toolsets", number: true, cell: (r) => count(r.toolsets) },
  { name: "Signed", cell: (r) => <time dateTime={r.issued} title={date(r.issued)} className="whitespace-nowrap">{ago(r.issued)}</time> },
  { name: "Good until", wide: true, cell: (r) => <span className="whitespace-nowrap">{date(r.expires)}</span> },
  { name: "State", cell: (r) => (r.stopped ? <Badge tone="bad">Stopped</Badge> : <Badge tone="ok">Published</Badge>) },
];

/** The newest release of each group of edges: those that get the same toolsets, by their labels. */
export function Releases() {
  const releases = useQuery(releasesQuery);
  const [resuming, setResuming] = useState(false);
  if (releases.isError) return <ProblemNote error={releases.error} retry={() => void releases.refetch()} />;
  if (releases.isPending) return <Skeleton rows={2} />;
  const stopped = releases.data.items.filter((r) => r.stopped);
  return (
    <Card title="Releases" flush actions={stopped.length > 0 ? <Button onClick={() => setResuming(true)}>Resume publishing</Button> : undefined}>
      {releases.data.items.length > 0 ? (
        <Table label="Releases" columns={columns} rows={releases.data.items} id={(r) => r.group} />
      ) : (
        <p className="p-4 text-muted">Nothing was released yet.</p>
      )}
      {stopped.map((r) => (
        <p key={r.group} className="border-t border-line px-4 py-2.5 break-words text-bad">
          {capital(r.stopped ?? "")}. {capital(r.remedy ?? "")}
        </p>
      ))}
      <p className="border-t border-line px-4 py-2 text-muted">
        The same in a terminal: <code className="font-mono text-text">sluice release</code>
      </p>
      <Resume open={resuming} close={() => setResuming(false)} />
    </Card>
  );
}

function Resume({ open, close }: { open: boolean; close: () => void }) {
  const queries = useQueryClient();
  const resume = useMutation({
    mutationFn: (reason: string) => unwrap(api.POST("/v1/releases/resume", { body: { reason } })),
    onSuccess: () => close(),
    onSettled: () => queries.invalidateQueries({ queryKey: RELEASES }),
  });
  return (
    <FormDialog title="Resume publishing" open={open} close={close} does={resume} action="Resume" danger command="sluice release resume --reason TEXT" submit={(text) => resume.mutate(text("reason"))}>
      <p>The records of this control plane are older than its newest release, as after a backup was restored. What was published after them is given up, and edges follow these records again.</p>
      <TextField label="Why" name="reason" required maxLength={500} autoComplete="off" hint="For the audit log" />
    </FormDialog>
  );
}

const planes: Column<Schemas["ControlPlane"]>[] = [
  { name: "Name", cell: (c) => <span className="break-all">{c.name}</span> },
  { name: "State", cell: (c) => (c.state === "leads" ? <Badge tone="ok">Leads</Badge> : c.state === "follows" ? <Badge tone="plain">Follows</Badge> : <Badge tone="bad">Gone</Badge>) },
  { name: "Seen", cell: (c) => <time dateTime={c.seen} title={date(c.seen)} className="whitespace-nowrap">{ago(c.seen)}</time> },
  { name: "Started", wide: true, cell: (c) => date(c.started) },
  { name: "Version", wide: true, cell: (c) => c.version },
];

/** The control planes that share one database; nothing where there is one alone. */
export function ControlPlanes() {
  const found = useQuery(planesQuery);
  if (found.isError) return <ProblemNote error={found.error} retry={() => void found.refetch()} />;
  if (found.isPending) return <Skeleton rows={1} />;
  return (
    <Card title="Control planes" flush>
      {found.data.items.length > 0 ? (
        <Table label="Control planes" columns={planes} rows={found.data.items} id={(c) => c.name} />
      ) : (
        <p className="p-4 text-muted">
          This one alone. Several share a PostgreSQL database and take over from each other where they are started with <code className="font-mono text-text">--cluster</code>.
        </p>
      )}
      <p className="border-t border-line px-4 py-2 text-muted">
        The same in a terminal: <code className="font-mono text-text">sluice cluster</code>
      </p>
    </Card>
  );
}
