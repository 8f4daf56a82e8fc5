import { Badge } from "../../components/status";
import type { Version } from "./queries";

/** Whether a version can be bound. */
export function VersionState({ version: v }: { version: Version }) {
  if (v.status === "yanked") return <Badge tone="warn">Yanked</Badge>;
  if (v.signature.revoked) return <Badge tone="bad">Key revoked</Badge>;
  return <Badge tone="ok">Published</Badge>;
}
