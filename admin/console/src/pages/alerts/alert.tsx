import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { CodeBlock, CommandLine } from "../../components/copy";
import { Dialog } from "../../components/dialog";
import { Select, TextField } from "../../components/field";
import { Moment } from "../../components/moment";
import { Card, Fact, Page } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { api, unwrap } from "../../lib/api";
import { count, date, sentence } from "../../lib/format";
import { useCan } from "../../lib/session";
import { Deliveries } from "./deliveries";
import { ALERTS, alertQuery, type Alert } from "./queries";
import { AlertState, Severity } from "./state";

export function AlertPage() {
  const { id } = useParams({ from: "/alerts/$id" });
  const alert = useQuery(alertQuery(id));
  const editor = useCan("editor");
  const [doing, setDoing] = useState<"ack" | "snooze" | "">("");
  if (alert.isError) {
    return (
      <Page title="Alert">
        <ProblemNote error={alert.error} retry={() => void alert.refetch()} />
      </Page>
    );
  }
  if (alert.isPending) {
    return (
      <Page title="Alert">
        <Skeleton />
      </Page>
    );
  }
  const a = alert.data;
  const open = a.state !== "resolved";
  return (
    <Page
      key={a.id}
      title={a.title}
      lead={
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <Link to="/alerts" className="text-accent underline">Alerts</Link>
          <Severity severity={a.severity} />
          <AlertState alert={a} />
          <span className="font-mono text-[0.9rem]">{a.kind}</span>
        </span>
      }
      actions={
        open && editor ? (
          <>
            <Button onClick={() => setDoing("ack")}>Acknowledge</Button>
            <Button onClick={() => setDoing("snooze")}>Snooze</Button>
          </>
        ) : null
      }
    >
      <div className="space-y-5">
        <div className="grid items-start gap-5 lg:grid-cols-2">
          <Card title="What was seen, and what resolves it">
            <p className="break-words">{sentence(a.details.cause)}</p>
            <p className="mt-3 break-words">{sentence(a.details.remedy)}</p>
            {a.details.command ? (
              <div className="mt-3">
                <CodeBlock label="the command that resolves it" text={a.details.command} />
              </div>
            ) : null}
          </Card>
          <Facts alert={a} />
        </div>
        <Deliveries alert={a.id} />
      </div>
      <Handle alert={a} doing={doing} close={() => setDoing("")} />
      <CommandLine command={`sluice alert show ${a.id}`} />
    </Page>
  );
}

function Facts({ alert: a }: { alert: Alert }) {
  const d = a.details;
  return (
    <Card title="Details">
      <dl>
        <Fact name="Since"><Moment at={a.since} /></Fact>
        {a.firedAt ? <Fact name="Told of"><Moment at={a.firedAt} /></Fact> : null}
        {a.resolvedAt ? <Fact name="Over since"><Moment at={a.resolvedAt} /></Fact> : null}
        {a.handledAt ? (
          <Fact name={a.state === "snoozed" ? "Snoozed" : "Acknowledged"}>
            <Moment at={a.handledAt} />
            {a.handledBy ? ` by ${a.handledBy}` : ""}
          </Fact>
        ) : null}
        {a.note ? <Fact name="Note">{a.note}</Fact> : null}
        {d.toolset ? (
          <Fact name="Toolset">
            <Link to="/toolsets/$slug" params={{ slug: d.toolset }} className="text-accent underline">
              {d.toolset}
            </Link>
          </Fact>
        ) : null}
        {d.connector ? <Fact name="Connector">{d.connector}</Fact> : null}
        {d.upstream ? <Fact name="Upstream">{d.status ? `${d.upstream}, status ${d.status}` : d.upstream}</Fact> : null}
        {d.caller ? <Fact name="Caller"><span className="break-all">{d.caller.name ? `${d.caller.name} (${d.caller.id})` : d.caller.id}</span></Fact> : null}
        {d.sent ? <Fact name="Credential"><code className="font-mono">{d.sent}</code></Fact> : null}
        {d.calls ? <Fact name="Calls that are hit">{count(d.calls)}{d.callers ? `, of ${count(d.callers)} ${d.callers === 1 ? "caller" : "callers"}` : ""}</Fact> : null}
        {d.tools?.length ? <Fact name="Tools"><span className="font-mono text-[0.9rem]">{d.tools.join(", ")}</span></Fact> : null}
        {d.edge ? <Fact name="Edge">{d.edge}</Fact> : null}
        {d.dueAt ? <Fact name="Due">{date(d.dueAt)}</Fact> : null}
        {d.threshold !== undefined ? <Fact name="Measured">{`${d.value ?? 0}, threshold ${d.threshold}`}</Fact> : null}
        {d.firstCall ? <Fact name="First call"><CallLink id={d.firstCall} /></Fact> : null}
        {d.lastCall && d.lastCall !== d.firstCall ? <Fact name="Last call"><CallLink id={d.lastCall} /></Fact> : null}
        {d.preceded ? <Fact name="Change before it">{`${d.preceded.action} by ${d.preceded.actor}, ${date(d.preceded.at)}`}</Fact> : null}
      </dl>
    </Card>
  );
}

const CallLink = ({ id }: { id: string }) => (
  <Link to="/analytics/calls" search={{ call: id }} className="font-mono text-accent underline">
    {id}
  </Link>
);

const HOUR = 3600;

/** Acknowledges or snoozes an alert. */
function Handle({ alert, doing, close }: { alert: Alert; doing: "ack" | "snooze" | ""; close: () => void }) {
  const queries = useQueryClient();
  const handle = useMutation({
    mutationFn: ({ note, seconds }: { note: string; seconds: number }) => {
      const params = { path: { id: alert.id } };
      const said = note ? { note } : {};
      return seconds > 0
        ? unwrap(api.POST("/v1/alerts/{id}/snooze", { params, body: { seconds, ...said } }))
        : unwrap(api.POST("/v1/alerts/{id}/ack", { params, body: said }));
    },
    onSuccess: () => close(),
    onSettled: () => queries.invalidateQueries({ queryKey: ALERTS }),
  });
  const shut = () => {
    handle.reset();
    close();
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    handle.mutate({ note: String(form.get("note") ?? "").trim(), seconds: doing === "snooze" ? Number(form.get("seconds")) : 0 });
  };
  const snooze = doing === "snooze";
  return (
    <Dialog title={snooze ? "Snooze this alert" : "Acknowledge this alert"} open={doing !== ""} onClose={shut}>
      <form onSubmit={submit} className="space-y-4">
        <p className="text-muted">
          {snooze ? "It is reported again when the time is over and its cause is still there." : "It is reported again when it is worse, and when it is over."}
        </p>
        {snooze ? (
          <Select label="For" name="seconds" defaultValue={4 * HOUR}>
            <option value={HOUR}>1 hour</option>
            <option value={4 * HOUR}>4 hours</option>
            <option value={24 * HOUR}>1 day</option>
            <option value={7 * 24 * HOUR}>7 days</option>
            <option value={30 * 24 * HOUR}>30 days</option>
          </Select>
        ) : null}
        <TextField label="Note" name="note" hint="For those who look at the alert; may be empty" maxLength={1000} />
        {handle.isError ? <ProblemNote error={handle.error} /> : null}
        <p className="text-muted">
          The same in a terminal: <code className="font-mono break-all text-text">{snooze ? `sluice alert snooze ${alert.id} --for 4h` : `sluice alert ack ${alert.id}`}</code>
        </p>
        <div className="flex justify-end gap-2">
          <Button onClick={shut}>Cancel</Button>
          <Button kind="primary" type="submit" busy={handle.isPending}>
            {snooze ? "Snooze" : "Acknowledge"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
