import { infiniteQueryOptions, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { CommandLine } from "../../components/copy";
import { Select, TextField } from "../../components/field";
import { FormDialog, Once } from "../../components/formdialog";
import { More } from "../../components/more";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Roles } from "../../components/roles";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { date } from "../../lib/format";
import { useCan } from "../../lib/session";
import { membersQuery } from "./members";

type Token = Schemas["APIToken"];

const tokensQuery = infiniteQueryOptions({
  queryKey: ["tokens"],
  queryFn: ({ pageParam }) => unwrap(api.GET("/v1/tokens", { params: { query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } } })),
  initialPageParam: "",
  getNextPageParam: (page) => page.nextCursor,
});

const ended = (t: Token) => Boolean(t.revokedAt) || (t.expiresAt !== undefined && Date.parse(t.expiresAt) <= Date.now());

const columns = (members: Map<string, string>, revoke: (t: Token) => void): Column<Token>[] => [
  { name: "Name", cell: (t) => <span className="break-words">{t.name}</span> },
  { name: "Role", cell: (t) => t.role },
  { name: "State", cell: (t) => (t.revokedAt ? <Badge tone="plain">Revoked</Badge> : ended(t) ? <Badge tone="plain">Expired</Badge> : <Badge tone="ok">Valid</Badge>) },
  { name: "Belongs to", wide: true, cell: (t) => (t.member ? (members.get(t.member) ?? t.member) : <span className="text-muted">Nobody</span>) },
  { name: "Valid until", cell: (t) => <span className="whitespace-nowrap">{t.revokedAt ? date(t.revokedAt) : t.expiresAt ? date(t.expiresAt) : "For ever"}</span> },
  { name: "Made", wide: true, cell: (t) => <span className="whitespace-nowrap">{date(t.createdAt)}</span> },
  {
    name: "Action",
    cell: (t) =>
      ended(t) ? null : (
        <Button onClick={() => revoke(t)} aria-label={`Revoke ${t.name}`}>
          Revoke
        </Button>
      ),
  },
];

/** The tokens of programs that use the admin API. */
export function Tokens() {
  const admin = useCan("admin");
  return (
    <>
      {admin ? <List /> : <p>Administrators make and revoke API tokens.</p>}
      <CommandLine command="sluice token list" />
    </>
  );
}

function List() {
  const tokens = useInfiniteQuery(tokensQuery);
  const members = useInfiniteQuery(membersQuery);
  const [making, setMaking] = useState(false);
  const [chosen, setChosen] = useState<Token | null>(null);
  if (tokens.isError) return <ProblemNote error={tokens.error} retry={() => void tokens.refetch()} />;
  if (tokens.isPending) return <Skeleton />;
  const known = new Map((members.data?.pages ?? []).flatMap((p) => p.items).map((m) => [m.id, m.email]));
  return (
    <Card title="API tokens" flush actions={<Button onClick={() => setMaking(true)}>Make a token</Button>}>
      <p className="border-b border-line px-4 py-2.5 text-muted">They are for the command line and for programs that use the admin API. A toolset URL is opened by an access token of the toolset.</p>
      <Table label="API tokens" columns={columns(known, setChosen)} rows={tokens.data.pages.flatMap((p) => p.items)} id={(t) => t.id} />
      <More list={tokens} />
      <Make open={making} close={() => setMaking(false)} />
      <Confirm
        title={`Revoke ${chosen?.name ?? ""}`}
        of={chosen}
        action="Revoke"
        command={`sluice token revoke ${chosen?.id}`}
        run={(t) => unwrap(api.DELETE("/v1/tokens/{id}", { params: { path: { id: t.id } } }))}
        stale={["tokens"]}
        close={() => setChosen(null)}
      >
        <p>Requests with it are refused at once, and sessions that it opened end. It cannot be undone.</p>
      </Confirm>
    </Card>
  );
}

const DAY = 24 * 60 * 60;

function Make({ open, close }: { open: boolean; close: () => void }) {
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: (body: Schemas["CreateAPIToken"]) => unwrap(api.POST("/v1/tokens", { body })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["tokens"] }),
  });
  return (
    <FormDialog
      title={make.data ? `The token ${make.data.name}` : "Make an API token"}
      open={open}
      close={close}
      does={make}
      action="Make it"
      command="sluice token create NAME"
      submit={(text) => {
        const days = Number(text("days"));
        make.mutate({ name: text("name"), role: text("role") as Token["role"], ...(days > 0 ? { ttlSeconds: days * DAY } : {}) });
      }}
      made={make.data ? <Once label="the API token" text={make.data.token ?? ""} /> : null}
    >
      <TextField label="Name" name="name" autoComplete="off" required maxLength={100} hint="Which program will use it" />
      <Roles />
      <Select label="Valid for" name="days" defaultValue="90">
        <option value="1">A day</option>
        <option value="30">30 days</option>
        <option value="90">90 days</option>
        <option value="365">A year</option>
        <option value="0">Ever</option>
      </Select>
    </FormDialog>
  );
}
