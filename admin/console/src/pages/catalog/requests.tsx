import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronUp } from "lucide-react";
import { useState } from "react";
import { Button, buttonClass } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { External } from "../../components/external";
import { Select, TextArea, TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { Moment } from "../../components/moment";
import { More } from "../../components/more";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { api, unwrap, unwrapTagged, type Schemas } from "../../lib/api";
import { count } from "../../lib/format";
import { faultAt } from "../../lib/problem";
import { useCan } from "../../lib/session";
import { entriesQuery, REQUESTS, requestsQuery, type Request, type RequestState } from "./queries";

const states: Record<RequestState, string> = { open: "Open", planned: "Planned", building: "In work", published: "Published", declined: "Declined" };

export function RequestBadge({ state }: { state: RequestState }) {
  return <Badge tone={state === "published" ? "ok" : state === "declined" ? "bad" : state === "open" ? "plain" : "warn"}>{states[state]}</Badge>;
}

export function Requests() {
  const [state, setState] = useState<RequestState | "">("");
  const [changed, setChanged] = useState<Request | null>(null);
  const list = useInfiniteQuery(requestsQuery(state));
  const editor = useCan("editor");
  if (list.isError) return <ProblemNote error={list.error} retry={() => void list.refetch()} />;
  if (list.isPending) return <Skeleton rows={4} />;
  const items = list.data.pages.flatMap((p) => p.items);
  return (
    <>
      <Card flush>
        <div className="flex flex-wrap items-center justify-between gap-3 border-b border-line p-3">
          <Select label="State" hidden value={state} onChange={(e) => setState(e.target.value as typeof state)}>
            <option value="">Every state</option>
            {Object.entries(states).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </Select>
          <Link to="/catalog/requests/new" className={buttonClass("primary")}>
            Request a connector
          </Link>
        </div>
        {items.length === 0 ? <p className="p-4 text-muted">{state ? "None in this state." : "Nobody has asked for a connector yet."}</p> : null}
        <ul className="divide-y divide-line">
          {items.map((r) => (
            <Row key={r.id} request={r} change={editor ? () => setChanged(r) : undefined} />
          ))}
        </ul>
        <More list={list} />
      </Card>
      {changed ? <Change key={changed.id} request={changed} close={() => setChanged(null)} /> : null}
      <CommandLine command={state ? `sluice request list --state ${state}` : "sluice request list"} />
    </>
  );
}

function Row({ request: r, change }: { request: Request; change?: () => void }) {
  return (
    <li className="flex flex-wrap items-start gap-4 px-4 py-3 sm:flex-nowrap">
      <Vote request={r} />
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <span className="font-medium break-words">{r.serviceName}</span>
          <RequestBadge state={r.state} />
          {r.state === "published" && r.entry ? <Published name={r.entry} /> : null}
        </p>
        <p className="mt-0.5 break-words whitespace-pre-line">{r.useCase}</p>
        <p className="mt-0.5 flex flex-wrap gap-x-4 text-muted">
          <External href={r.website}>{r.website}</External>
          <External href={r.apiDocsUrl}>API documentation</External>
          <span>{r.expectedVolume}</span>
          <span>asked for {r.requestedByName ? `by ${r.requestedByName}, ` : ""}<Moment at={r.createdAt} /></span>
        </p>
        {r.reason ? <p className="mt-1 break-words">{r.reason}</p> : null}
        {r.comments?.length ? (
          <ul className="mt-2 space-y-1 border-l-2 border-line pl-3">
            {r.comments.map((c) => (
              <li key={c.at} className="break-words">
                {c.text} <span className="text-muted">– {c.byName ?? c.by}, <Moment at={c.at} /></span>
              </li>
            ))}
          </ul>
        ) : null}
      </div>
      {change ? (
        <Button onClick={change} aria-label={`Change the request for ${r.serviceName}`}>
          Change
        </Button>
      ) : null}
    </li>
  );
}

/** Where a request led: an entry of the catalog, or a toolset. */
function Published({ name }: { name: string }) {
  const catalog = useQuery(entriesQuery({}));
  if (!catalog.data) return <span>{name}</span>;
  const look = "text-accent underline";
  if (!catalog.data.items.some((e) => e.id === name)) return <Link to="/toolsets/$slug" params={{ slug: name }} className={look}>{name}</Link>;
  return <Link to="/catalog/$entry" params={{ entry: name }} className={look}>{name}</Link>;
}

/** The switch of one's own vote. */
export function Vote({ request: r }: { request: Request }) {
  const queries = useQueryClient();
  const vote = useMutation({
    mutationFn: (give: boolean) => {
      const call = { params: { path: { id: r.id } } };
      return unwrap(give ? api.PUT("/v1/connector-requests/{id}/vote", call) : api.DELETE("/v1/connector-requests/{id}/vote", call));
    },
    onSettled: () => queries.invalidateQueries({ queryKey: REQUESTS }),
  });
  const decided = r.state === "published" || r.state === "declined";
  return (
    <div className="w-14 shrink-0">
      <button
        type="button"
        aria-pressed={r.voted}
        aria-label={`Vote for ${r.serviceName}, ${count(r.votes)} ${r.votes === 1 ? "vote" : "votes"}`}
        disabled={vote.isPending || decided}
        onClick={() => vote.mutate(!r.voted)}
        className={`flex min-h-11 w-full flex-col items-center rounded-md border px-2 py-1 font-medium tabular-nums disabled:opacity-60 ${r.voted ? "border-accent bg-accent-soft forced-colors:outline" : "border-line-strong bg-surface text-muted hover:text-text"}`}
      >
        <ChevronUp aria-hidden size={16} />
        {count(r.votes)}
      </button>
      {vote.isError ? <p role="alert" className="mt-1 text-[0.86rem] break-words text-bad">{vote.error.message}</p> : null}
    </div>
  );
}

/** Says what becomes of a request. */
function Change({ request: r, close }: { request: Request; close: () => void }) {
  const queries = useQueryClient();
  const [state, setState] = useState(r.state);
  const change = useMutation({
    mutationFn: async (body: Schemas["ChangeRequest"]) => {
      const params = { path: { id: r.id } };
      const { etag } = await unwrapTagged(api.GET("/v1/connector-requests/{id}", { params }));
      return unwrap(
        api.PATCH("/v1/connector-requests/{id}", { params: { ...params, header: { "If-Match": etag } }, body, headers: { "Content-Type": "application/merge-patch+json" } }),
      );
    },
    onSuccess: close,
    onSettled: () => queries.invalidateQueries({ queryKey: REQUESTS }),
  });
  return (
    <FormDialog
      title={`Request for ${r.serviceName}`}
      open
      close={close}
      does={change}
      action="Save"
      command={`sluice request set ${r.id} --state ${state}`}
      submit={(text) =>
        change.mutate({
          ...(state !== r.state ? { state } : {}),
          ...(text("entry") ? { entry: text("entry") } : {}),
          ...(text("reason") ? { reason: text("reason") } : {}),
          ...(text("comment") ? { comment: text("comment") } : {}),
        })
      }
    >
      <Select label="State" value={state} onChange={(e) => setState(e.target.value as RequestState)}>
        {Object.entries(states).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </Select>
      {state === "published" ? (
        <TextField label="Entry of the catalog, or toolset" name="entry" defaultValue={r.entry} required maxLength={128} hint="Who asked and voted is named to the channels." error={faultAt(change.error, "/entry")} />
      ) : null}
      {state === "declined" ? <TextField label="Why" name="reason" defaultValue={r.reason} required maxLength={1000} error={faultAt(change.error, "/reason")} /> : null}
      <TextArea label="Comment" name="comment" maxLength={2000} hint="Everybody of the workspace reads it; may be empty" error={faultAt(change.error, "/comment")} />
    </FormDialog>
  );
}
