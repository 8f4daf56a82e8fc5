import { useMutation } from "@tanstack/react-query";
import { Button } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Table, type Column } from "../../components/table";
import { api, unwrap } from "../../lib/api";
import { useCan } from "../../lib/session";
import { OwnRules } from "./ownrules";
import type { Alert } from "./queries";
import { Severity } from "./state";

interface Rule {
  kind: string;
  severities: Alert["severity"][];
  when: string;
}

/** What the control plane looks for by itself. TestConsoleShowsEveryRule in admin/notify/alert compares it with the kinds of alerts. */
const rules: Rule[] = [
  { kind: "upstream.auth_failed", severities: ["critical"], when: "An upstream answers 401 to a call with the credential of the toolset, or 403 to everything for ten minutes. Over when a call is accepted." },
  { kind: "login.needed", severities: ["critical"], when: "An authorization server gives no access token any more: somebody must log in again." },
  { kind: "key.rotation_due", severities: ["info", "warning"], when: "14 days before a key is 90 days old, a day before, and then." },
  { kind: "certificate.expiring", severities: ["info", "warning", "critical"], when: "14 days before a client certificate ends, a day before, and then." },
  { kind: "domain.certificate", severities: ["warning", "critical"], when: "The certificate of a domain ends in 14 days and was not renewed; a day before, when it has ended, or when the authority gives none for ten minutes." },
  { kind: "token.expiring", severities: ["info", "warning"], when: "14 days before an API token ends, and a day before, if it lived long enough for that." },
  { kind: "source.changed", severities: ["info", "warning"], when: "A new version of a specification, or changed tools of an MCP server, wait to be accepted; a warning when tools break." },
  { kind: "source.unreadable", severities: ["warning"], when: "A specification that is read by schedule could not be read three times in a row." },
  { kind: "edge.silent", severities: ["critical"], when: "An edge said nothing for three minutes." },
  { kind: "edge.behind", severities: ["critical"], when: "An edge does not serve the newest release for two minutes." },
  { kind: "edge.fault", severities: ["warning"], when: "An edge says for two minutes that something is wrong with it, or its clock is off by more than a minute." },
  { kind: "clock.wrong", severities: ["critical"], when: "Most edges agree that the clock of the control plane is off." },
  { kind: "disk.low", severities: ["warning", "critical"], when: "Less than 1 GiB is free on the disk of the control plane; less than 128 MiB." },
  { kind: "passkey.copied", severities: ["critical"], when: "A passkey signed with a counter that went back: there may be a copy of it." },
  { kind: "backup.old", severities: ["warning"], when: "Backups were made, and the newest is older than seven days." },
  { kind: "usage.late", severities: ["warning"], when: "An edge says for two minutes that it cannot report its usage, or dropped some." },
  { kind: "upstream.unreachable", severities: ["critical"], when: "80 % of the newest calls, five at least, did not reach the upstream, for 30 seconds." },
  { kind: "upstream.timeout", severities: ["critical"], when: "Half of the newest calls, ten at least, had no answer in time, for a minute." },
  { kind: "upstream.errors", severities: ["warning"], when: "A quarter of the newest calls, 20 at least, failed by fault of the upstream, for a minute." },
  { kind: "upstream.circuit_open", severities: ["critical"], when: "Half of the newest calls were turned away before the upstream was asked, for 30 seconds." },
  { kind: "upstream.rate_limited", severities: ["warning"], when: "A fifth of the newest calls was answered with 429, for a minute." },
  { kind: "upstream.slow", severities: ["warning"], when: "The upstream takes ten seconds or more for the slowest 5 % of the newest calls, for two minutes." },
  { kind: "tool.failing", severities: ["warning"], when: "Every one of the newest calls of a tool fails, ten at least, for a minute." },
  { kind: "toolset.errors", severities: ["warning"], when: "Half of the newest calls of a toolset fail, 50 at least, for two minutes." },
  { kind: "plugin.failing", severities: ["critical"], when: "A plugin makes a fifth of the newest calls of a tool fail, for a minute." },
  { kind: "rollout.rolled_back", severities: ["warning"], when: "A canary was worse than what is live, and was rolled back by itself." },
  { kind: "rule.fired", severities: ["info", "warning", "critical"], when: "Usage passed the threshold of a rule of your own." },
  { kind: "budget.spent", severities: ["info", "warning", "critical"], when: "80 % of a budget of a day or a month is used, or all of it." },
];

const columns: Column<Rule>[] = [
  { name: "Kind", cell: (r) => <code className="font-mono text-[0.9rem]">{r.kind}</code> },
  { name: "Severity", cell: (r) => <span className="inline-flex flex-wrap gap-1">{r.severities.map((s) => <Severity key={s} severity={s} />)}</span> },
  { name: "When", cell: (r) => <span className="block min-w-56">{r.when}</span> },
];

const tried: Column<Rule>[] = [...columns, { name: "Action", cell: (r) => <Try rule={r} /> }];

export function Rules() {
  const editor = useCan("editor");
  return (
    <div className="space-y-5">
      <OwnRules />
      <Card title="From the start" flush>
        <p className="border-b border-line p-4 text-muted">These are on from the start; those over usage are changed with the command below. Which channels are notified of which kind is set at each channel.</p>
        <Table label="Rules" columns={editor ? tried : columns} rows={rules} id={(r) => r.kind} />
      </Card>
      <CommandLine command="sluice alert rule list" />
      <CommandLine command="sluice alert test --kind upstream.auth_failed" />
    </div>
  );
}

/** Sends a test to the channels that would be told. */
function Try({ rule }: { rule: Rule }) {
  const test = useMutation({ mutationFn: () => unwrap(api.POST("/v1/alerts/test", { body: { kind: rule.kind, severity: rule.severities.at(-1) ?? "critical" } })) });
  if (test.isError) return <ProblemNote error={test.error} retry={test.reset} />;
  return (
    <span className="inline-flex flex-wrap items-center gap-2">
      <Button busy={test.isPending} onClick={() => test.mutate()} aria-label={`Send a test of ${rule.kind}`}>
        Send a test
      </Button>
      <span role="status" className="text-ok">{test.isSuccess ? "Sent: see Deliveries" : ""}</span>
    </span>
  );
}
