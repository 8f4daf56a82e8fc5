import { BellOff, Check, Clock, UserCheck } from "lucide-react";
import { Badge } from "../../components/status";
import { date } from "../../lib/format";
import type { Alert } from "./queries";

const tones = { info: "plain", warning: "warn", critical: "bad" } as const;
const words = { info: "Info", warning: "Warning", critical: "Critical" } as const;

export const Severity = ({ severity }: { severity: Alert["severity"] }) => <Badge tone={tones[severity]}>{words[severity]}</Badge>;

export function AlertState({ alert }: { alert: Alert }) {
  switch (alert.state) {
    case "pending":
      return <Badge tone="plain" Icon={Clock}>Not reported yet</Badge>;
    case "acknowledged":
      return <Badge tone="plain" Icon={UserCheck}>Acknowledged</Badge>;
    case "snoozed":
      return <Badge tone="plain" Icon={BellOff}>{alert.snoozedUntil ? `Snoozed until ${date(alert.snoozedUntil)}` : "Snoozed"}</Badge>;
    case "resolved":
      return <Badge tone="ok" Icon={Check}>Over</Badge>;
    default:
      return <Badge tone="warn">Firing</Badge>;
  }
}
