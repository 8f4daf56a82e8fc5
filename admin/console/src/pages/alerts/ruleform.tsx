import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Select, TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { api, unwrap, unwrapTagged, type Schemas } from "../../lib/api";
import { faultAt } from "../../lib/problem";
import { toolsetsQuery } from "../../lib/queries";
import { ALERTS, type OwnRule } from "./queries";

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

export const eaches = { toolset: "Each toolset", tool: "Each tool", caller: "Each caller", workspace: "All together" } as const;

type Read = (name: string) => string;

/** What both forms have: how much of what is measured, for how long, is an alert. */
function settings(read: Read) {
  return {
    threshold: Number(read("threshold")),
    window: read("window"),
    for: read("for"),
    severity: read("severity") as NonNullable<NewRule["severity"]>,
    ...(read("minCalls") ? { minCalls: Number(read("minCalls")) } : {}),
  };
}

/** What the form says, as the API takes it. */
function fromForm(read: Read): NewRule {
  const optional = Object.fromEntries((["toolset", "connector", "tool", "caller"] as const).filter((name) => read(name)).map((name) => [name, read(name)]));
  return { name: read("name"), metric: read("metric") as Metric, each: read("each") as NonNullable<NewRule["each"]>, ...settings(read), ...optional };
}

/** The choices, and what the rule has where that is none of them. */
function Chosen({ label, name, value, choices, unknown }: { label: string; name: string; value: string; choices: Record<string, string>; unknown?: string }) {
  const all = value in choices ? choices : { [value]: unknown ?? value, ...choices };
  return (
    <Select label={label} name={name} defaultValue={value}>
      {Object.entries(all).map(([key, words]) => (
        <option key={key} value={key}>
          {words}
        </option>
      ))}
    </Select>
  );
}

const windows = {
  "5m": "5 minutes",
  "10m": "10 minutes",
  "1h": "1 hour",
  "24h": "24 hours",
  day: "Today (UTC), as a budget",
  month: "This month (UTC), as a budget",
};
const waits = { "0s": "Told of at once", "1m": "When it is so for a minute", "5m": "When it is so for 5 minutes" };
const severities = { info: "Info", warning: "Warning", critical: "Critical" };

/** The fields of how much is an alert. */
function HowMuch({ rule, error }: { rule?: OwnRule; error: (pointer: string) => string | undefined }) {
  return (
    <>
      <TextField
        label="An alert from"
        name="threshold"
        type="number"
        required
        min={0}
        step="any"
        defaultValue={rule?.threshold}
        hint={rule ? `In ${rule.unit}` : undefined}
        error={error("/threshold") ?? error("/metric")}
      />
      <TextField
        label="Not below so many calls"
        name="minCalls"
        type="number"
        min={0}
        max={1_000_000}
        defaultValue={rule?.minCalls}
        hint="Of rates and latencies: fewer say nothing"
        error={error("/minCalls")}
      />
      <Chosen label="Window" name="window" value={rule?.window ?? "10m"} choices={windows} />
      <Chosen label="For" name="for" value={rule?.for ?? "0s"} choices={waits} unknown={`When it is so for ${rule?.for ?? ""}`} />
      <Chosen label="Severity" name="severity" value={rule?.severity ?? "warning"} choices={severities} />
    </>
  );
}

export function AddRule({ open, close }: { open: boolean; close: () => void }) {
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
          {Object.entries(metrics).map(([metric, words]) => (
            <option key={metric} value={metric}>
              {words}
            </option>
          ))}
        </Select>
        <Select label="An alert for" name="each" value={each} onChange={(e) => setEach(e.target.value as keyof typeof eaches)}>
          {Object.entries(eaches).map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </Select>
        <HowMuch error={error} />
      </div>
      {error("/window") ? <p className="text-bad">{error("/window")}</p> : null}
      <div className="grid gap-4 sm:grid-cols-2">
        <Select label="Toolset" name="toolset" defaultValue="">
          <option value="">Every toolset</option>
          {(toolsets.data?.pages ?? []).flatMap((p) => p.items).map((t) => (
            <option key={t.id} value={t.id}>
              {t.name}
            </option>
          ))}
        </Select>
        <TextField label="Connector" name="connector" maxLength={63} hint="Windows up to an hour. Empty: every one" error={error("/connector")} />
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

/** Writes settings over the version of a rule that is there now. */
export async function changeRule(name: string, body: Schemas["Settings"]) {
  const path = { name };
  const { etag } = await unwrapTagged(api.GET("/v1/alert-rules/{name}", { params: { path } }));
  return unwrap(api.PATCH("/v1/alert-rules/{name}", { params: { path, header: { "If-Match": etag } }, body }));
}

/** Changes how much is an alert. What a rule counts stays: for something else there is another rule. */
export function ChangeRule({ rule, close }: { rule: OwnRule | null; close: () => void }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (body: Schemas["Settings"]) => changeRule(rule?.name ?? "", body),
    onSuccess: () => close(),
    onSettled: () => queries.invalidateQueries({ queryKey: ALERTS }),
  });
  const error = (pointer: string) => faultAt(change.error, pointer);
  return (
    <FormDialog
      title={`Change the rule ${rule?.name ?? ""}`}
      open={rule !== null}
      close={close}
      does={change}
      action="Save"
      command={`sluice alert rule set ${rule?.name ?? "NAME"} --threshold N`}
      submit={(read) => change.mutate(settings(read))}
    >
      {rule ? (
        <div className="grid gap-4 sm:grid-cols-2">
          <HowMuch rule={rule} error={error} />
        </div>
      ) : null}
      {error("/window") ? <p className="text-bad">{error("/window")}</p> : null}
    </FormDialog>
  );
}
