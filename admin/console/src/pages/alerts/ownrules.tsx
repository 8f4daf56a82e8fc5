import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { Dialog } from "../../components/dialog";
import { More } from "../../components/more";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, unwrapTagged, type Schemas } from "../../lib/api";
import { date } from "../../lib/format";
import { useCan } from "../../lib/session";
import { ALERTS, ownRulesQuery, type OwnRule } from "./queries";
import { AddRule, changeRule, ChangeRule, eaches } from "./ruleform";
import { Severity } from "./state";

function counted(r: OwnRule): string {
  const of = [r.toolset, r.connector ? `connector ${r.connector}` : "", r.tool, r.caller ? `caller ${r.caller}` : ""].filter(Boolean);
  return of.length > 0 ? of.join(", ") : "Every call";
}

const columns: Column<OwnRule>[] = [
  { name: "Name", cell: (r) => <span className="font-medium">{r.name}</span> },
  { name: "Measured", cell: (r) => <code className="font-mono text-[0.9rem]">{r.metric}</code> },
  { name: "From", cell: (r) => `${r.threshold ?? 0} ${r.unit}` },
  { name: "Window", cell: (r) => r.window ?? "" },
  { name: "Counts", wide: true, cell: (r) => <span className="break-all">{counted(r)}</span> },
  { name: "Alert for", cell: (r) => eaches[r.each ?? "toolset"] },
  { name: "Severity", cell: (r) => <Severity severity={r.severity ?? "warning"} /> },
  { name: "State", cell: (r) => (r.enabled === false ? <Badge tone="plain">Off</Badge> : <Badge tone="ok">On</Badge>) },
];

interface Does {
  change: (rule: OwnRule) => void;
  attempt: (rule: OwnRule) => void;
  remove: (rule: OwnRule) => void;
}

const actions = (does: Does): Column<OwnRule> => ({ name: "Action", cell: (r) => <Actions rule={r} does={does} /> });

function Actions({ rule, does }: { rule: OwnRule; does: Does }) {
  const queries = useQueryClient();
  const on = rule.enabled !== false;
  const flip = useMutation({
    mutationFn: () => changeRule(rule.name, { enabled: !on }),
    onSettled: () => queries.invalidateQueries({ queryKey: ALERTS }),
  });
  return (
    <span className="inline-flex flex-wrap gap-2">
      <Button onClick={() => does.attempt(rule)} aria-label={`Try the rule ${rule.name}`}>
        Try
      </Button>
      <Button onClick={() => does.change(rule)} aria-label={`Change the rule ${rule.name}`}>
        Change
      </Button>
      <Button busy={flip.isPending} onClick={() => flip.mutate()} aria-label={`Switch the rule ${rule.name} ${on ? "off" : "on"}`}>
        {on ? "Switch off" : "Switch on"}
      </Button>
      <Button kind="danger" onClick={() => does.remove(rule)} aria-label={`Remove the rule ${rule.name}`}>
        Remove
      </Button>
      {flip.isError ? <ProblemNote error={flip.error} /> : null}
    </span>
  );
}

const firings: Column<Schemas["RuleFiring"]>[] = [
  { name: "Told of", cell: (f) => <time dateTime={f.at}>{date(f.at)}</time> },
  { name: "Over", cell: (f) => (f.until ? <time dateTime={f.until}>{date(f.until)}</time> : "Still so") },
  { name: "Alert", cell: (f) => <span className="break-words">{f.title}</span> },
  { name: "Highest", number: true, cell: (f) => f.value },
];

/** What a rule would have reported over the usage of the last day. */
function TryRule({ rule, close }: { rule: OwnRule | null; close: () => void }) {
  const name = rule?.name ?? "";
  const attempt = useQuery({
    queryKey: [...ALERTS, "try", name],
    queryFn: () => unwrap(api.POST("/v1/alert-rules/{name}/test", { params: { path: { name } }, body: { range: "24h" } })),
    enabled: rule !== null,
    gcTime: 0,
  });
  const found = attempt.data?.firings ?? [];
  return (
    <Dialog title={`Try the rule ${name}`} open={rule !== null} onClose={close}>
      {attempt.isError ? <ProblemNote error={attempt.error} retry={() => void attempt.refetch()} /> : null}
      {rule !== null && attempt.isPending ? <Skeleton rows={2} /> : null}
      {attempt.data ? (
        <>
          <p role="status" className="mb-3">
            {found.length === 0 ? "It would have reported nothing in the last 24 hours." : `In the last 24 hours it would have reported ${found.length === 1 ? "one alert" : `${found.length} alerts`}:`}
          </p>
          {found.length > 0 ? <Table label="What it would have reported" columns={firings} rows={found} id={(f) => `${f.at}${f.title}`} /> : null}
        </>
      ) : null}
      <p className="mt-3 text-muted">
        The same in a terminal: <code className="font-mono break-all text-text">sluice alert rule test {name}</code>
      </p>
      <div className="mt-4 flex justify-end">
        <Button onClick={close}>Close</Button>
      </div>
    </Dialog>
  );
}

export function OwnRules() {
  const rules = useInfiniteQuery(ownRulesQuery);
  const editor = useCan("editor");
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<OwnRule | null>(null);
  const [changing, setChanging] = useState<OwnRule | null>(null);
  const [trying, setTrying] = useState<OwnRule | null>(null);
  if (rules.isError) return <ProblemNote error={rules.error} retry={() => void rules.refetch()} />;
  if (rules.isPending) return <Skeleton rows={2} />;
  const items = rules.data.pages.flatMap((p) => p.items);
  return (
    <>
      <Card title="Own rules" flush actions={editor ? <Button onClick={() => setAdding(true)}>Add a rule</Button> : null}>
        {items.length > 0 ? (
          <Table label="Own rules" columns={editor ? [...columns, actions({ change: setChanging, attempt: setTrying, remove: setRemoving })] : columns} rows={items} id={(r) => r.name} />
        ) : (
          <p className="p-4 text-muted">An own rule compares calls, errors, tokens or latencies with a threshold: of a toolset, a tool or a caller.</p>
        )}
        <More list={rules} />
      </Card>
      <AddRule open={adding} close={() => setAdding(false)} />
      <ChangeRule key={`change ${changing?.name ?? ""}`} rule={changing} close={() => setChanging(null)} />
      <TryRule key={`try ${trying?.name ?? ""}`} rule={trying} close={() => setTrying(null)} />
      <Confirm
        title={`Remove the rule ${removing?.name ?? ""}`}
        of={removing}
        action="Remove"
        command={`sluice alert rule remove ${removing?.name ?? "NAME"}`}
        stale={ALERTS}
        close={() => setRemoving(null)}
        run={async (r) => {
          const path = { name: r.name };
          const { etag } = await unwrapTagged(api.GET("/v1/alert-rules/{name}", { params: { path } }));
          return unwrap(api.DELETE("/v1/alert-rules/{name}", { params: { path, header: { "If-Match": etag } } }));
        }}
      >
        <p>Its alerts are over then.</p>
      </Confirm>
    </>
  );
}
