import { useQuery } from "@tanstack/react-query";
import { CommandLine } from "../../components/copy";
import { sessionQuery } from "../../lib/session";
import { can } from "../../lib/roles";
import { Jobs } from "./jobs";
import { Keys } from "./keys";
import { ControlPlanes, Releases } from "./releases";
import { Workspaces } from "./workspaces";

/** What the node itself has: keys, releases, control planes and workspaces for its operator, work for everybody. */
export function Node() {
  const session = useQuery(sessionQuery).data;
  if (!session) return null; // The sign-in form is shown instead.
  const operator = session.workspace.operator && can(session.role, "admin");
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
