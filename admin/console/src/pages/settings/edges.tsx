import { infiniteQueryOptions, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { CodeBlock, CommandLine } from "../../components/copy";
import { Select, TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { More } from "../../components/more";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { ago, count, date } from "../../lib/format";
import { every } from "../../lib/live";
import { readLabels, writeLabels } from "../../lib/labels";
import { useCan } from "../../lib/session";

type Edge = Schemas["Edge"];
type JoinToken = Schemas["JoinToken"];

/** What edges report is not a record that changes: while one is behind or silent, it is looked at this often. */
const EVERY = 10_000;

const edgesQuery = infiniteQueryOptions({
  queryKey: ["edges"],
  queryFn: ({ pageParam }) => unwrap(api.GET("/v1/edges", { params: { query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } } })),
  initialPageParam: "",
  getNextPageParam: (page) => page.nextCursor,
  refetchInterval: (query) => ((query.state.data?.pages ?? []).some((p) => p.items.some((e) => e.state !== "connected" && e.state !== "revoked")) ? EVERY : every(EVERY)()),
});

const joinQuery = infiniteQueryOptions({
  queryKey: ["edges", "join-tokens"],
  queryFn: ({ pageParam }) => unwrap(api.GET("/v1/edges/join-tokens", { params: { query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } } })),
  initialPageParam: "",
  getNextPageParam: (page) => page.nextCursor,
});

const states = {
  connected: <Badge tone="ok">Connected</Badge>,
  lagging: <Badge tone="warn">Behind</Badge>,
  failing: <Badge tone="bad">Failing</Badge>,
  silent: <Badge tone="bad">Silent</Badge>,
  revoked: <Badge tone="plain">Revoked</Badge>,
};

const edgeColumns: Column<Edge>[] = [
  {
    name: "Name",
    cell: (e) => (
      <>
        <span className="break-words">{e.name}</span>
        {e.errors.map((error) => (
          <span key={error} className="block break-words text-bad">
            {error}
          </span>
        ))}
      </>
    ),
  },
  { name: "State", cell: (e) => states[e.state] },
  { name: "Labels", wide: true, cell: (e) => <code className="font-mono text-[0.9rem]">{writeLabels(e.labels)}</code> },
  { name: "Toolsets", number: true, cell: (e) => count(e.toolsets) },
  { name: "Release", number: true, cell: (e) => (e.lag > 0 ? `${count(e.revision)} of ${count(e.newest)}` : count(e.revision)) },
  { name: "Version", wide: true, cell: (e) => e.version ?? "" },
  { name: "Seen", cell: (e) => (e.lastSeen ? <time dateTime={e.lastSeen} title={date(e.lastSeen)} className="whitespace-nowrap">{ago(e.lastSeen)}</time> : "Never") },
];

const revokeEdge = (revoke: (e: Edge) => void): Column<Edge> => ({
  name: "Action",
  cell: (e) =>
    e.revokedAt ? null : (
      <Button onClick={() => revoke(e)} aria-label={`Revoke ${e.name}`}>
        Revoke
      </Button>
    ),
});

/** The nodes that serve toolsets elsewhere, and the tokens with which they join. */
export function Edges() {
  const edges = useInfiniteQuery(edgesQuery);
  const admin = useCan("admin");
  const [chosen, setChosen] = useState<Edge | null>(null);
  const items = edges.data?.pages.flatMap((p) => p.items) ?? [];
  return (
    <div className="space-y-5">
      {edges.isError ? <ProblemNote error={edges.error} retry={() => void edges.refetch()} /> : null}
      {edges.isPending ? <Skeleton /> : null}
      {edges.data ? (
        <Card title="Edges" flush>
          {items.length > 0 ? (
            <Table label="Edges" columns={admin ? [...edgeColumns, revokeEdge(setChosen)] : edgeColumns} rows={items} id={(e) => e.id} />
          ) : (
            <p className="p-4 text-muted">No edge has joined. One is a node that serves toolsets elsewhere, and gets them from this control plane.</p>
          )}
          <More list={edges} />
        </Card>
      ) : null}
      {admin ? <JoinTokens /> : <p className="text-muted">Inviting and revoking edges needs the role admin.</p>}
      <Confirm
        title={`Revoke ${chosen?.name ?? ""}`}
        of={chosen}
        action="Revoke"
        command={`sluice edge revoke ${chosen?.id}`}
        run={(e) => unwrap(api.DELETE("/v1/edges/{id}", { params: { path: { id: e.id } } }))}
        stale={["edges"]}
        close={() => setChosen(null)}
      >
        <p>It gets nothing more from this control plane. It cannot be undone: the node would have to join again.</p>
      </Confirm>
      <CommandLine command="sluice edge list" />
    </div>
  );
}

const over = (t: JoinToken) => Boolean(t.revokedAt) || (t.maxUses > 0 && t.uses >= t.maxUses) || (t.expiresAt !== undefined && Date.parse(t.expiresAt) <= Date.now());

const joinColumns = (revoke: (t: JoinToken) => void): Column<JoinToken>[] => [
  { name: "Name", cell: (t) => t.name ?? <code className="font-mono break-all">{t.id}</code> },
  { name: "State", cell: (t) => (t.revokedAt ? <Badge tone="plain">Revoked</Badge> : over(t) ? <Badge tone="plain">Over</Badge> : <Badge tone="ok">Valid</Badge>) },
  { name: "Labels", cell: (t) => <code className="font-mono text-[0.9rem]">{writeLabels(t.labels)}</code> },
  { name: "Joined", number: true, cell: (t) => (t.maxUses > 0 ? `${count(t.uses)} of ${count(t.maxUses)}` : count(t.uses)) },
  { name: "Valid until", cell: (t) => <span className="whitespace-nowrap">{t.expiresAt ? date(t.expiresAt) : "For ever"}</span> },
  {
    name: "Action",
    cell: (t) =>
      over(t) ? null : (
        <Button onClick={() => revoke(t)} aria-label={`Revoke ${t.name ?? t.id}`}>
          Revoke
        </Button>
      ),
  },
];

function JoinTokens() {
  const tokens = useInfiniteQuery(joinQuery);
  const [making, setMaking] = useState(false);
  const [chosen, setChosen] = useState<JoinToken | null>(null);
  if (tokens.isError) return <ProblemNote error={tokens.error} retry={() => void tokens.refetch()} />;
  if (tokens.isPending) return <Skeleton rows={2} />;
  const items = tokens.data.pages.flatMap((p) => p.items);
  return (
    <Card title="Join tokens" flush actions={<Button onClick={() => setMaking(true)}>Make a join token</Button>}>
      {items.length > 0 ? <Table label="Join tokens" columns={joinColumns(setChosen)} rows={items} id={(t) => t.id} /> : <p className="p-4 text-muted">None was made yet.</p>}
      <More list={tokens} />
      <Make open={making} close={() => setMaking(false)} />
      <Confirm
        title={`Revoke ${chosen?.name ?? "the join token"}`}
        of={chosen}
        action="Revoke"
        command={`sluice edge token revoke ${chosen?.id}`}
        run={(t) => unwrap(api.DELETE("/v1/edges/join-tokens/{id}", { params: { path: { id: t.id } } }))}
        stale={["edges", "join-tokens"]}
        close={() => setChosen(null)}
      >
        <p>No further edge joins with it. Those that joined stay.</p>
      </Confirm>
    </Card>
  );
}

const HOUR = 60 * 60;

function Make({ open, close }: { open: boolean; close: () => void }) {
  const queries = useQueryClient();
  const [fault, setFault] = useState("");
  const make = useMutation({
    mutationFn: (body: Schemas["CreateJoinToken"]) => unwrap(api.POST("/v1/edges/join-tokens", { body })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["edges", "join-tokens"] }),
  });
  const shut = () => {
    setFault("");
    close();
  };
  return (
    <FormDialog
      title="Make a join token"
      open={open}
      close={shut}
      does={make}
      action="Make it"
      command="sluice edge token"
      noValidate
      submit={(text) => {
        const labels = readLabels(text("labels"));
        setFault(labels ? "" : "Write NAME=VALUE, with blanks between several.");
        if (labels) make.mutate({ labels, maxUses: Number(text("uses")), ttlSeconds: Number(text("hours")) * HOUR, ...(text("name") ? { name: text("name") } : {}) });
      }}
      made={
        make.data ? (
          <>
            <p className="mb-2">Put it into a file on the new node. It is not stored, and nobody can show it again.</p>
            <CodeBlock label="the join token" text={make.data.token ?? ""} />
            <p className="mt-3 mb-2">Start the node with:</p>
            <CodeBlock label="the command that joins" text={`sluice serve --role edge --control-plane ${location.origin} --join-token-file FILE --data DIR`} />
          </>
        ) : null
      }
    >
      <TextField label="Name" name="name" autoComplete="off" maxLength={100} hint="For the list; may be empty" />
      <TextField label="Labels" name="labels" autoComplete="off" spellCheck={false} placeholder="region=eu tier=gold" hint="Of the edges that join with it: they get the toolsets all of whose labels they have." error={fault || undefined} />
      <TextField label="Nodes that may join with it" name="uses" type="number" min={1} defaultValue={1} />
      <Select label="Valid for" name="hours" defaultValue="24">
        <option value="1">An hour</option>
        <option value="24">A day</option>
        <option value="168">A week</option>
        <option value="8760">A year</option>
      </Select>
    </FormDialog>
  );
}
