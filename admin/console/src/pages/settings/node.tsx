import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { CommandLine } from "../../components/copy";
import { Skeleton } from "../../components/skeleton";
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
