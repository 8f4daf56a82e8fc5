import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { Select, TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { More } from "../../components/more";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, unwrapTagged, type Schemas } from "../../lib/api";
import { faultAt } from "../../lib/problem";
import { toolsetsQuery } from "../../lib/queries";
import { useCan } from "../../lib/session";
import { ALERTS, ownRulesQuery, type OwnRule } from "./queries";
import { Severity } from "./state";

type NewRule = Schemas["NewRule"];
type Metric = NonNullable<NewRule["metric"]>;

const metrics: Partial<Record<Metric, string>> = {
  calls: "Calls",
  errors: "Failed calls",
  error_rate: "Failed calls, in percent",
  tokens: "Tokens that agents got",
  latency_p50: "Half of the calls take longer, ms",
  latency_p95: "5 % of the calls take longer, ms",
  latency_p99: "1 % of the calls take longer, ms",
  upstream_p50: "Half of the calls wait longer for the upstream, ms",
  upstream_p95: "5 % of the calls wait longer for the upstream, ms",
  upstream_p99: "1 % of the calls wait longer for the upstream, ms",
};

const eaches = { toolset: "Each toolset", tool: "Each tool", caller: "Each caller", workspace: "All together" } as const;

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

const removal = (remove: (rule: OwnRule) => void): Column<OwnRule> => ({ name: "Action", cell: (r) => <Removal rule={r} remove={remove} /> });

const Removal = ({ rule, remove }: { rule: OwnRule; remove: (rule: OwnRule) => void }) => (
  <Button kind="danger" onClick={() => remove(rule)} aria-label={`Remove the rule ${rule.name}`}>
    Remove
  </Button>
);

/** What the form says, as the API takes it. */
function fromForm(read: (name: string) => string): NewRule {
  const optional = Object.fromEntries((["toolset", "tool", "caller"] as const).filter((name) => read(name)).map((name) => [name, read(name)]));
  return {
    name: read("name"),
    metric: read("metric") as Metric,
    threshold: Number(read("threshold")),
    window: read("window"),
    for: read("for"),
    each: read("each") as NonNullable<NewRule["each"]>,
    severity: read("severity") as NonNullable<NewRule["severity"]>,
    ...optional,
  };
}

export function OwnRules() {
  const rules = useInfiniteQuery(ownRulesQuery);
  const editor = useCan("editor");
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<OwnRule | null>(null);
  if (rules.isError) return <ProblemNote error={rules.error} retry={() => void rules.refetch()} />;
  if (rules.isPending) return <Skeleton rows={2} />;
  const items = rules.data.pages.flatMap((p) => p.items);
  return (
    <>
      <Card title="Own rules" flush actions={editor ? <Button onClick={() => setAdding(true)}>Add a rule</Button> : null}>
        {items.length > 0 ? (
          <Table label="Own rules" columns={editor ? [...columns, removal(setRemoving)] : columns} rows={items} id={(r) => r.name} />
        ) : (
          <p className="p-4 text-muted">An own rule compares calls, errors, tokens or latencies with a threshold: of a toolset, a tool or a caller.</p>
        )}
        <More list={rules} />
      </Card>
      <AddRule open={adding} close={() => setAdding(false)} />
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

function AddRule({ open, close }: { open: boolean; close: () => void }) {
  const queries = useQueryClient();
  const toolsets = useInfiniteQuery(toolsetsQuery);
  const [each, setEach] = useState<keyof typeof eaches>("toolset");
  const [caller, setCaller] = useState("");
  const add = useMutation({
    mutationFn: (body: NewRule) => unwrap(api.POST("/v1/alert-rules", { body })),
    onSuccess: () => close(),
    onSettled: () => queries.invalidateQueries({ queryKey: ALERTS }),
  });
  const error = (pointer: string) => faultAt(add.error, pointer);
  const byCaller = each === "caller" || caller.trim() !== "";
  return (
    <FormDialog title="Add a rule" open={open} close={close} does={add} action="Add" command="sluice alert rule add NAME --metric METRIC --threshold N" submit={(read) => add.mutate(fromForm(read))}>
      <TextField label="Name" name="name" required maxLength={63} hint="Lower-case letters, digits and hyphens" error={error("/name")} />
      <div className="grid gap-4 sm:grid-cols-2">
        <Select label="Measured" name="metric" defaultValue="error_rate">
          {Object.entries(metrics)
            .filter(([metric]) => !byCaller || !metric.includes("_p"))
            .map(([metric, words]) => (
              <option key={metric} value={metric}>
                {words}
              </option>
            ))}
        </Select>
        <TextField label="An alert from" name="threshold" type="number" required min={0} step="any" error={error("/threshold") ?? error("/metric")} />
        <Select label="Window" name="window" defaultValue="10m">
          <option value="5m">5 minutes</option>
          <option value="10m">10 minutes</option>
          <option value="1h">1 hour</option>
          <option value="24h">24 hours</option>
          <option value="day">Today (UTC), as a budget</option>
          <option value="month">This month (UTC), as a budget</option>
        </Select>
        <Select label="For" name="for" defaultValue="0s">
          <option value="0s">Told of at once</option>
          <option value="1m">When it is so for a minute</option>
          <option value="5m">When it is so for 5 minutes</option>
        </Select>
        <Select label="An alert for" name="each" value={each} onChange={(e) => setEach(e.target.value as keyof typeof eaches)}>
          {Object.entries(eaches).map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </Select>
        <Select label="Severity" name="severity" defaultValue="warning">
          <option value="info">Info</option>
          <option value="warning">Warning</option>
          <option value="critical">Critical</option>
        </Select>
      </div>
      {error("/window") ? <p className="text-bad">{error("/window")}</p> : null}
      <Select label="Toolset" name="toolset" defaultValue="">
        <option value="">Every toolset</option>
        {(toolsets.data?.pages ?? []).flatMap((p) => p.items).map((t) => (
          <option key={t.id} value={t.id}>
            {t.name}
          </option>
        ))}
      </Select>
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField label="Tool" name="tool" maxLength={256} hint="Empty: every tool" error={error("/tool")} />
        <TextField
          label="Caller"
          name="caller"
          maxLength={255}
          value={caller}
          onChange={(e) => setCaller(e.target.value)}
          hint="Id of an access token, or subject. Empty: every caller"
          error={error("/caller") ?? error("/each")}
        />
      </div>
      {byCaller ? <p className="text-muted">The alert says who it is. Channels are not told.</p> : null}
    </FormDialog>
  );
}
