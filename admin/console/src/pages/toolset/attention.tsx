import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { CopyLine } from "../../components/copy";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Badge } from "../../components/status";
import { api, unwrap, type Schemas } from "../../lib/api";
import { credentialState } from "../../lib/credential";
import { date, plural, sentence } from "../../lib/format";
import { bindingsQuery } from "./bindings";

type Toolset = Schemas["ToolsetDetail"];
type Binding = Schemas["BoundPlugin"];

/** Findings beyond so many are in the API's answer only. */
const LISTED = 50;

const alertsOf = (id: string) =>
  queryOptions({
    queryKey: ["alerts", "toolset", id],
    queryFn: () => unwrap(api.GET("/v1/alerts", { params: { query: { open: true, toolset: id, limit: 20 } } })),
  });

const severity = { info: "plain", warning: "warn", critical: "bad" } as const;

/** What is wrong with a toolset or may be, each with what to do; nothing where nothing is. */
export function Attention({ toolset: t }: { toolset: Toolset }) {
  const alerts = useQuery(alertsOf(t.id));
  const bindings = useQuery(bindingsQuery(t.slug));
  const failed = alerts.isError ? alerts : bindings.isError ? bindings : null;
  // What a changed source says has a card of its own.
  const open = (alerts.data?.items ?? []).filter((a) => a.kind !== "source.changed");
  const items = [...open.map(ofAlert), ...ofCredential(t, open), ...(bindings.data?.data.bindings ?? []).flatMap((b) => ofBinding(t, b)), ...ofServer(t), ...ofSource(t)];
  if (items.length === 0 && !failed) return null;
  return (
    <Card title="Needs attention" flush>
      {failed ? <div className="p-3"><ProblemNote error={failed.error} retry={() => void failed.refetch()} /></div> : null}
      <ul className="divide-y divide-line">
        {items.map(({ key, badge, what, more, command }) => (
          <li key={key} className="px-4 py-3">
            <div className="flex flex-wrap items-center gap-2">
              {badge}
              <span className="min-w-0 break-words">{what}</span>
            </div>
            {more ? <div className="mt-1 break-words text-muted">{more}</div> : null}
            {command ? <CopyLine command={command} /> : null}
          </li>
        ))}
      </ul>
    </Card>
  );
}

interface Item {
  key: string;
  badge: ReactNode;
  what: ReactNode;
  /** What to do. */
  more?: ReactNode;
  command?: string | undefined;
}

const ofAlert = (a: Schemas["Alert"]): Item => ({
  key: a.id,
  badge: <Badge tone={severity[a.severity]}>{a.severity}</Badge>,
  what: (
    <Link to="/alerts/$id" params={{ id: a.id }} className="text-accent underline">
      {a.title}
    </Link>
  ),
  more: sentence(a.details.remedy),
  command: a.details.command,
});

const credentials = {
  failing: ["bad", "The authorization server refuses the login", "Log in again, or enter the right client"],
  expired: ["bad", "The login has expired", "Log in again"],
  login_required: ["warn", "Nobody has logged in yet", "Log in with the browser"],
  missing: ["warn", "The specification asks for a credential, and none is set", "Enter it"],
} as const;

function ofCredential(t: Toolset, alerts: Schemas["Alert"][]): Item[] {
  const state = credentialState(t.connectors);
  if (!(state in credentials) || alerts.some((a) => a.kind === "upstream.auth_failed" || a.kind === "login.needed")) return [];
  const [tone, what, todo] = credentials[state as keyof typeof credentials];
  return [
    {
      key: "credential",
      badge: <Badge tone={tone}>Credential</Badge>,
      what: `${what}.`,
      more: (
        <>
          {todo} on the page{" "}
          <Link to="/toolsets/$slug/authentication" params={{ slug: t.slug }} className="text-accent underline">
            Authentication
          </Link>
          .
        </>
      ),
      command: `sluice toolset auth ${t.slug}`,
    },
  ];
}

const bindingStates = {
  yanked: ["warn", "is a yanked version", "Its publisher took it back: bind another version."],
  revoked: ["bad", "is signed with a revoked key", "Bind a version that is signed with a key in force."],
  waiting: ["warn", "waits for an operation that is not there, or for a tool that is disabled", "Enable the tool, or bind the plugin elsewhere."],
  disabled: ["plain", "offers a tool that is disabled", "Enable it on the page Tools, or unbind the plugin."],
} as const;

function ofBinding(t: Toolset, b: Binding): Item[] {
  const name = `${b.plugin} ${b.pinned}`;
  const key = `${b.plugin} ${b.connector ?? ""} ${b.tool ?? ""}`;
  const command = `sluice plugin bindings ${t.slug}`;
  const item = (of: string, tone: "plain" | "warn" | "bad", what: string, more: string): Item => ({
    key: `${key} ${of}`,
    badge: <Badge tone={tone}>Plugin</Badge>,
    what,
    more: (
      <>
        {more}{" "}
        <Link to="/toolsets/$slug/plugins" params={{ slug: t.slug }} className="text-accent underline">
          Its plugins
        </Link>
      </>
    ),
    command,
  });
  const left = (b.leftOut ?? []).map((l) => item(`left out ${l.edge ?? ""}`, "bad", `${name} is left out of calls${l.edge ? ` at the edge ${l.edge}` : ""} until ${date(l.until)}.`, `${sentence(l.reason)} It is tried again then; a newer version, or unbinding it, fixes it now.`));
  const state = b.status === "ok" ? [] : [item("status", bindingStates[b.status][0], `${name} ${bindingStates[b.status][1]}.`, bindingStates[b.status][2])];
  return [
    ...left,
    ...state,
    ...(b.warning ? [item("warning", "warn", `${name}: ${b.warning}`, "Bind it so that it reads all that agents read, or accept that.")] : []),
    ...(b.waits ? [item("waits", "warn", `${b.plugin} ${b.newer ?? ""} waits, because it asks for more than it is granted.`, "Grant or refuse that where it is bound.")] : []),
  ];
}

/** What is wrong with the MCP servers of a toolset. What they changed is a card of its own. */
const ofServer = (t: Toolset): Item[] =>
  t.connectors.flatMap((c) =>
    c.upstream?.fault
      ? [{ key: `server ${c.name}`, badge: <Badge tone="bad">MCP server</Badge>, what: `${c.name} could not be reached.`, more: sentence(c.upstream.fault), command: `sluice toolset refresh ${t.slug}` }]
      : [],
  );

/** What the source says that may not be as one expects: texts that are written for a model first. */
function ofSource(t: Toolset): Item[] {
  const flagged = t.warnings.filter((d) => d.code === "model_instructions");
  const others = t.warnings.filter((d) => d.code !== "model_instructions");
  const command = `sluice toolset get ${t.slug} -o yaml`;
  const items: Item[] = [];
  if (flagged.length > 0) {
    items.push({
      key: "flagged",
      badge: <Badge tone="warn">Texts</Badge>,
      what: `${plural(flagged.length, "text")} of the source ${flagged.length === 1 ? "is" : "are"} written for a model, not for a reader.`,
      more: (
        <>
          Agents read them. Read what they say; write another description, or disable the tool, on the page{" "}
          <Link to="/toolsets/$slug/tools" params={{ slug: t.slug }} className="text-accent underline">
            Tools
          </Link>
          .<Findings of={flagged} />
        </>
      ),
      command,
    });
  }
  if (others.length > 0) {
    items.push({ key: "remarks", badge: <Badge tone="plain">Source</Badge>, what: `${plural(others.length, "remark")} on the source.`, more: <Findings of={others} />, command });
  }
  if (t.unsupported.length > 0) {
    items.push({
      key: "unsupported",
      badge: <Badge tone="plain">Source</Badge>,
      what: `${plural(t.unsupported.length, "operation")} cannot be a tool.`,
      more: (
        <List
          of={t.unsupported.map((u) => (
            <>
              <code className="font-mono">
                {u.method} {u.path}
              </code>
              {u.line ? `, line ${u.line}` : ""}: {u.reason}
            </>
          ))}
        />
      ),
      command,
    });
  }
  return items;
}

const Findings = ({ of }: { of: Schemas["Diagnostic"][] }) => <List of={of.map((d) => `${d.line ? `Line ${d.line}: ` : ""}${sentence(d.detail)}${d.remedy ? ` ${sentence(d.remedy)}` : ""}`)} />;

function List({ of }: { of: ReactNode[] }) {
  return (
    <details>
      <summary className="min-h-6 py-1">Show {of.length > LISTED ? `the first ${LISTED}` : "them"}</summary>
      <ul className="list-disc space-y-1 py-1 pl-5">
        {of.slice(0, LISTED).map((item, i) => (
          // oxlint-disable-next-line no-array-index-key -- the list is never reordered
          <li key={i} className="break-words">
            {item}
          </li>
        ))}
      </ul>
    </details>
  );
}
