import { infiniteQueryOptions, useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { Button, buttonClass } from "../../components/button";
import { CodeBlock, CommandLine } from "../../components/copy";
import { Dialog } from "../../components/dialog";
import { More } from "../../components/more";
import { Card, Fact } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { SaveCSV } from "../../components/savecsv";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { download } from "../../lib/csv";
import { plural, second } from "../../lib/format";
import { useCan } from "../../lib/session";
import { AuditFilter } from "./auditfilter";
import { auditFilter, KIND } from "./auditsearch";

type Record = Schemas["AuditRecord"];

const auditPage = (filter: string, cursor: string, limit: number) =>
  unwrap(api.GET("/v1/audit", { params: { query: { limit, ...(filter ? { filter } : {}), ...(cursor ? { cursor } : {}) } } }));

const auditQuery = (filter: string) =>
  infiniteQueryOptions({
    queryKey: ["audit", filter],
    queryFn: ({ pageParam }) => auditPage(filter, pageParam, 50),
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
  });

const outcomes = { ok: <Badge tone="ok">Done</Badge>, failed: <Badge tone="bad">Failed</Badge>, refused: <Badge tone="warn">Refused</Badge> };

const columns = (open: (r: Record) => void): Column<Record>[] => [
  {
    name: "Record",
    cell: (r) => (
      <Button kind="quiet" onClick={() => open(r)} aria-label={`${r.seq}: ${r.action}`}>
        {r.seq}
      </Button>
    ),
  },
  { name: "When", cell: (r) => <time dateTime={r.time} className="whitespace-nowrap">{second(r.time)}</time> },
  { name: "What", cell: (r) => <code className="font-mono text-[0.9rem]">{r.action}</code> },
  { name: "Of", cell: (r) => <code className="block min-w-32 font-mono text-[0.9rem] break-all" title={r.resource}>{r.resourceName ?? r.resource}</code> },
  { name: "Who", wide: true, cell: (r) => <code className="block min-w-60 font-mono text-[0.9rem] break-all">{r.actor.name ?? (r.actor.id || r.actor.type)}</code> },
  { name: "Outcome", cell: (r) => outcomes[r.outcome] },
];

/** Every change, every deployment and every refusal, newest first. */
export function AuditLog() {
  const admin = useCan("admin");
  const filter = auditFilter(useSearch({ from: "/settings/settings/audit" }));
  return (
    <>
      {admin ? <Log filter={filter} /> : <p>Administrators read the audit log.</p>}
      <CommandLine command={`sluice audit list${filter ? ` --filter ${shellWord(filter)}` : ""}`} />
    </>
  );
}

function Log({ filter }: { filter: string }) {
  const records = useInfiniteQuery(auditQuery(filter));
  const [chosen, setChosen] = useState<Record | null>(null);
  const rows = records.data?.pages.flatMap((p) => p.items) ?? [];
  return (
    <div className="space-y-5">
      <Whole />
      <Card flush>
        <AuditFilter />
        <div className="flex flex-wrap justify-end border-b border-line px-3 pb-3">
          <Export filter={filter} />
        </div>
        {records.isError ? <div className="p-3"><ProblemNote error={records.error} retry={() => void records.refetch()} /></div> : null}
        {records.isPending ? <Skeleton rows={10} /> : null}
        {records.data && rows.length === 0 ? <p className="p-4 text-muted">No matching records. “Action” is a whole action or its beginning, such as toolset or toolset.deploy.</p> : null}
        {rows.length > 0 ? <Table label="Audit log" columns={columns(setChosen)} rows={rows} id={(r) => r.id} /> : null}
        <More list={records} />
      </Card>
      <Dialog title={chosen ? `${chosen.seq}: ${chosen.action}` : ""} open={chosen !== null} onClose={() => setChosen(null)} wide>
        {chosen ? <Detail of={chosen} /> : null}
        <div className="mt-4 flex flex-wrap justify-end gap-2">
          {chosen ? <Alike to={chosen} close={() => setChosen(null)} /> : null}
          <Button onClick={() => setChosen(null)}>Close</Button>
        </div>
      </Dialog>
    </div>
  );
}

/** Whether something is missing of the log. */
function Whole() {
  const verify = useMutation({ mutationFn: () => unwrap(api.POST("/v1/audit/verify", { body: {} })) });
  const head = useMutation({
    mutationFn: () => unwrap(api.GET("/v1/audit/head")),
    onSuccess: ({ envelope }) => download("audit-head.json", JSON.stringify(envelope), "application/json"),
  });
  return (
    <Card title="Integrity">
      <p className="mb-3 text-muted">Each record holds the hash of the one before it, and the newest is signed. A signed head that is kept on another machine proves later that no record was removed.</p>
      <div className="flex flex-wrap items-center gap-3">
        <Button busy={verify.isPending} onClick={() => verify.mutate()}>
          Verify it
        </Button>
        <Button busy={head.isPending} onClick={() => head.mutate()}>
          Save the signed head
        </Button>
        <p role="status" className="min-w-0 break-words">
          {verify.data ? (verify.data.ok ? `${plural(verify.data.records, "record")}, nothing is missing or changed.` : verify.data.faults.join(". ")) : ""}
        </p>
      </div>
      {verify.isError || head.isError ? (
        <div className="mt-3">
          <ProblemNote error={verify.error ?? head.error} />
        </div>
      ) : null}
    </Card>
  );
}

const text = (value: unknown) => (value === undefined ? "" : JSON.stringify(value));

/** Saves the records that fit. */
function Export({ filter }: { filter: string }) {
  return (
    <SaveCSV
      file="audit.csv"
      one="record"
      names={["seq", "id", "time", "action", "resource", "resource_name", "actor_type", "actor", "actor_name", "session", "ip", "outcome", "reason", "request", "before", "after", "digest", "hash"]}
      page={(cursor) => auditPage(filter, cursor, 200)}
      row={(r: Record) => [
        r.seq, r.id, r.time, r.action, r.resource, r.resourceName, r.actor.type, r.actor.id, r.actor.name, r.actor.session, r.actor.ip, r.outcome, r.reason, r.requestId,
        text(r.before), text(r.after), r.digest, r.hash,
      ]}
    />
  );
}

/** The ways to the records that are like one. */
function Alike({ to: r, close }: { to: Record; close: () => void }) {
  const by = r.actor.id || (r.actor.type ? `${KIND}${r.actor.type}` : "");
  return (
    <>
      <Link to="/settings/audit" search={{ what: r.action }} className={buttonClass()} onClick={close}>
        Only this action
      </Link>
      {r.resource ? (
        <Link to="/settings/audit" search={{ of: r.resource }} className={buttonClass()} onClick={close}>
          Only this resource
        </Link>
      ) : null}
      {by ? (
        <Link to="/settings/audit" search={{ who: by }} className={buttonClass()} onClick={close}>
          Only this actor
        </Link>
      ) : null}
    </>
  );
}

const json = (value: unknown) => JSON.stringify(value, null, 2);

function Detail({ of: r }: { of: Record }) {
  return (
    <div className="space-y-3">
      <dl>
        <Fact name="When">{second(r.time)}</Fact>
        <Fact name="Who">
          {r.actor.type} {r.actor.name ? `${r.actor.name} (${r.actor.id})` : r.actor.id}
          {r.actor.ip ? ` from ${r.actor.ip}` : ""}
        </Fact>
        <Fact name="Of">{r.resourceName ? `${r.resourceName} (${r.resource})` : r.resource}</Fact>
        <Fact name="Outcome">{outcomes[r.outcome]}</Fact>
        {r.reason ? <Fact name="Why">{r.reason}</Fact> : null}
        {r.requestId ? (
          <Fact name="Request">
            <code className="font-mono break-all">{r.requestId}</code>
          </Fact>
        ) : null}
        <Fact name="Hash">
          <code className="font-mono break-all">{r.hash}</code>
        </Fact>
      </dl>
      {r.before === undefined ? null : (
        <div>
          <h3 className="mb-1 font-medium">Before</h3>
          <CodeBlock label="before" text={json(r.before)} />
        </div>
      )}
      {r.after === undefined ? null : (
        <div>
          <h3 className="mb-1 font-medium">After</h3>
          <CodeBlock label="after" text={json(r.after)} />
        </div>
      )}
    </div>
  );
}
