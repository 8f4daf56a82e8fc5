import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { CommandLine } from "../../components/copy";
import { Card, Fact } from "../../components/page";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { healthQuery, type HealthCheck } from "../../lib/health";
import { can } from "../../lib/roles";
import { sessionQuery } from "../../lib/session";
import { Jobs, jobsQuery } from "./jobs";
import { Keys, keysQuery } from "./keys";
import { ControlPlanes, planesQuery, Releases, releasesQuery } from "./releases";
import { Workspaces, workspacesQuery } from "./workspaces";

/** What the node itself has: keys, releases, control planes and workspaces for its operator, work for everybody. */
export function Node() {
  const session = useQuery(sessionQuery).data;
  const operator = session !== undefined && session !== null && session.workspace.operator && can(session.role, "admin");
  // All at once, so that no card moves the others when it comes.
  const pending = [
    useQuery(healthQuery).isPending,
    useInfiniteQuery(jobsQuery).isPending,
    useQuery({ ...releasesQuery, enabled: operator }).isPending && operator,
    useQuery({ ...planesQuery, enabled: operator }).isPending && operator,
    useQuery({ ...keysQuery, enabled: operator }).isPending && operator,
    useInfiniteQuery({ ...workspacesQuery, enabled: operator }).isPending && operator,
  ];
  if (!session) return null; // The sign-in form is shown instead.
  if (pending.includes(true)) return <Skeleton rows={8} />;
  return (
    <div className="space-y-5">
      <Readiness />
      <Jobs />
      {operator ? (
        <>
          <Releases />
          <ControlPlanes />
          <Keys />
          <Workspaces />
        </>
      ) : (
        <p className="text-muted">Keys, releases, control planes and workspaces are those of the operator: an administrator of the workspace that runs this control plane.</p>
      )}
      <CommandLine command={operator ? "sluice key list" : "sluice job list"} />
    </div>
  );
}

const states = { ok: { tone: "ok", name: "Ready" }, attention: { tone: "warn", name: "Attention" }, failed: { tone: "bad", name: "Failed" } } as const;

/** What decides whether the node gets traffic, as its /readyz says. */
function Readiness() {
  const checks = useQuery(healthQuery).data ?? [];
  if (checks.length === 0) return null;
  return (
    <Card title="Readiness">
      <dl>
        {checks.map((c: HealthCheck) => (
          <Fact key={c.name} name={c.name}>
            <span className="inline-flex flex-wrap items-center justify-end gap-2">
              {c.state === "ok" ? null : <span>{c.detail}</span>}
              <Badge tone={states[c.state].tone}>{states[c.state].name}</Badge>
            </span>
          </Fact>
        ))}
      </dl>
      <p className="pt-2 text-muted">
        The same in a terminal: <code className="font-mono text-text">sluice doctor</code>
      </p>
    </Card>
  );
}
