import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { CommandLine } from "../../components/copy";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import type { Schemas } from "../../lib/api";
import { capital, date } from "../../lib/format";
import { useCan } from "../../lib/session";
import { BindPlugin } from "./bindplugin";
import { bindingsQuery, grantWords, move, ofWhat, placeFlags, placeOf, put, useBindings, without, type Bound } from "./bindings";

const states = {
  ok: <Badge tone="ok">Bound</Badge>,
  yanked: <Badge tone="warn">Yanked</Badge>,
  revoked: <Badge tone="bad">Key revoked</Badge>,
  waiting: <Badge tone="warn">Waits for its tool</Badge>,
  disabled: <Badge tone="plain">Its tool is off</Badge>,
  gone: <Badge tone="bad">Gone</Badge>,
};

const onErrors = { fail: "The agent gets an error", pass: "The answer goes on" };

/** The plugins that a toolset binds, in the order in which they run on an answer. */
export function ToolsetPlugins() {
  const { slug } = useParams({ from: "/toolsets/$slug" });
  const bindings = useQuery(bindingsQuery(slug));
  const editor = useCan("editor");
  const order = useBindings(slug);
  const [edited, setEdited] = useState<Bound | "new" | null>(null);
  const [chosen, setChosen] = useState<Bound | null>(null);
  const unbind = useBindings(slug);
  if (bindings.isError) return <ProblemNote error={bindings.error} retry={() => void bindings.refetch()} />;
  if (bindings.isPending) return <Skeleton />;
  const { bindings: items, live, liveRevision, changed } = bindings.data.data;
  const busy = order.isPending;
  return (
    <div className="space-y-5">
      <Card title="Plugins of the draft" flush actions={editor ? <Button onClick={() => setEdited("new")}>Bind a plugin</Button> : undefined}>
        <p className="border-b border-line px-4 py-2.5 text-muted">
          They run on an answer in this order, each on what the one before made: behind the toolset&apos;s own settings of answers, before the fields that a caller asks for.
        </p>
        {order.isError ? <div className="p-3"><ProblemNote error={order.error} /></div> : null}
        {items.length > 0 ? (
          <ol aria-label="Plugins in the order they run">
            {items.map((b, at) => (
              <li key={placeOf(b)} className="border-b border-line p-4 last:border-0">
                <BoundItem bound={b} at={at}>
                  {editor ? (
                    <span className="flex flex-wrap gap-2">
                      <Button disabled={busy || at === 0} onClick={() => order.mutate((all) => move(all, b, -1))} aria-label={`Run ${b.plugin} for ${ofWhat(b)} earlier`}>
                        Earlier
                      </Button>
                      <Button disabled={busy || at === items.length - 1} onClick={() => order.mutate((all) => move(all, b, 1))} aria-label={`Run ${b.plugin} for ${ofWhat(b)} later`}>
                        Later
                      </Button>
                      {b.newer && !b.waits ? (
                        <Button busy={busy} onClick={() => order.mutate((all) => put(all, { ...(all.find((o) => placeOf(o) === placeOf(b)) ?? { plugin: b.plugin }), update: true }))} aria-label={`Move ${b.plugin} for ${ofWhat(b)} to ${b.newer}`}>
                          Move to {b.newer}
                        </Button>
                      ) : null}
                      <Button onClick={() => setEdited(b)} aria-label={`Change ${b.plugin} for ${ofWhat(b)}`}>
                        Change
                      </Button>
                      <Button onClick={() => setChosen(b)} aria-label={`Unbind ${b.plugin} from ${ofWhat(b)}`}>
                        Unbind
                      </Button>
                    </span>
                  ) : null}
                </BoundItem>
              </li>
            ))}
          </ol>
        ) : (
          <p className="p-4 text-muted">
            None. <Link to="/plugins" className="text-accent underline">Plugins</Link> lists what is published; most toolsets need none.
          </p>
        )}
      </Card>
      {liveRevision && (changed || live?.length) ? (
        <Card title={`What serves now: revision ${liveRevision}`} flush>
          {changed ? <p className="border-b border-line px-4 py-2.5 text-warn">A deploy of the draft changes it.</p> : null}
          {live?.length ? <Table label="Plugins that serve now" columns={liveColumns} rows={live} id={placeOf} /> : <p className="p-4 text-muted">No plugin runs.</p>}
        </Card>
      ) : null}
      {editor ? null : <p className="text-muted">Binding plugins needs the role editor.</p>}
      <BindPlugin slug={slug} edited={edited} close={() => setEdited(null)} />
      <Confirm
        title={`Unbind ${chosen?.plugin ?? ""}`}
        of={chosen}
        action="Unbind"
        command={`sluice plugin unbind ${slug} ${chosen?.plugin}${chosen ? placeFlags(chosen) : ""}`}
        run={(b) => unbind.mutateAsync((all) => without(all, b))}
        stale={["toolset", slug]}
        close={() => setChosen(null)}
      >
        <p>
          It no longer runs on {chosen ? ofWhat(chosen) : ""} once the draft is deployed. {chosen?.redacts ? "What it takes out of answers reaches agents then." : "What is live stays until then."}
        </p>
      </Confirm>
      <CommandLine command={`sluice plugin bindings ${slug}`} />
    </div>
  );
}

function BoundItem({ bound: b, at, children }: { bound: Bound; at: number; children: ReactNode }) {
  const facts = [
    b.onError ? `on a failure: ${onErrors[b.onError].toLowerCase()}` : "",
    b.config ? `configured: ${JSON.stringify(b.config)}` : "",
    b.grants ? `granted: ${grantWords(b.grants)}` : "",
    b.offers ? `offers the tool ${b.offers}` : "",
    ...Object.entries(b.calls ?? {}).map(([name, tool]) => `calls ${tool} as ${name}`),
  ].filter(Boolean);
  return (
    <>
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0">
          <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <span className="text-muted tabular-nums">{at + 1}.</span>
            <Link to="/plugins/$name" params={{ name: b.plugin }} search={{ version: b.pinned }} className="font-mono font-medium text-accent hover:underline">
              {b.plugin}@{b.pinned}
            </Link>
            <span className="break-all">for {ofWhat(b)}</span>
            {states[b.status]}
          </p>
          <p className="break-words text-muted">
            {b.kind}
            {b.version ? `, range ${b.version}` : ""}
            {b.live ? (b.live === b.pinned ? ", live" : `, live is ${b.live}`) : ", not live"}
          </p>
          {facts.map((f) => (
            <p key={f} className="break-words text-muted">{capital(f)}</p>
          ))}
        </div>
        {children}
      </div>
      {b.warning ? <p className="mt-1 break-words text-warn">{capital(b.warning)}</p> : null}
      {b.waits ? <p className="mt-1 break-words text-warn">Version {b.newer} asks for more: {grantWords(b.waits)}. It is not moved to before that is granted or refused with <em>Change</em>.</p> : null}
      {b.leftOut?.map((l) => (
        <p key={`${l.edge}${l.until}`} className="mt-1 break-words text-bad">
          Left out {l.edge ? `on ${l.edge}` : "on this node"} until {date(l.until)}: {l.reason}
        </p>
      ))}
    </>
  );
}

const liveColumns: Column<Schemas["LivePlugin"]>[] = [
  { name: "Plugin", cell: (p) => <span className="font-mono">{p.plugin}@{p.version}</span> },
  { name: "For", cell: (p) => <span className="break-all">{ofWhat(p)}</span> },
  { name: "State", cell: (p) => (p.status === "ok" ? <Badge tone="ok">Runs</Badge> : states[p.status]) },
  { name: "On a failure", wide: true, cell: (p) => onErrors[p.onError] },
  { name: "Granted", wide: true, cell: (p) => <code className="font-mono text-[0.9rem] break-all">{grantWords(p.grants)}</code> },
];
