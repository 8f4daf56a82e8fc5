import { Badge } from "../../components/status";
import type { Call } from "./queries";
import { outcomes, type Outcome } from "./search";

export function OutcomeBadge({ call }: { call: Pick<Call, "outcome"> }) {
  const name = outcomes[call.outcome as Outcome] ?? call.outcome;
  return <Badge tone={call.outcome === "ok" ? "ok" : call.outcome === "cancelled" ? "plain" : "bad"}>{name}</Badge>;
}
