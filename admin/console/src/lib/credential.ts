import type { Schemas } from "./api";

type Connector = Pick<Schemas["ToolsetConnector"], "authentication" | "authenticationMethods">;
export type CredentialState = "failing" | "expired" | "login_required" | "missing" | "ok" | "set" | "none";

/** The worst state of a toolset's credentials. Only of a login the node knows whether it is good; a key is set, or it is not. */
export function credentialState(connectors: Connector[]): CredentialState {
  const set = connectors.flatMap((c) => (c.authentication && c.authentication.authType !== "none" ? [c.authentication, ...(c.authentication.items ?? [])] : []));
  const states = set.map((a) => a.state);
  for (const state of ["failing", "expired", "login_required"] as const) if (states.includes(state)) return state;
  if (connectors.some((c) => c.authenticationMethods.length > 0 && !c.authentication)) return "missing";
  if (states.includes("ok")) return "ok";
  return set.length > 0 ? "set" : "none";
}
