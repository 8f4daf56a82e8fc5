import type { Schemas } from "../lib/api";
import { Moment } from "./moment";
import { Badge } from "./status";
import type { Column } from "./table";

const states = { published: "Published", superseded: "Superseded", rolled_back: "Rolled back", archived: "Archived" } as const;

/** What was published, when, by whom and why. */
export const revisionColumns: Column<Schemas["Revision"]>[] = [
  { name: "Revision", number: true, cell: (r) => r.n },
  { name: "State", cell: (r) => (r.live ? <Badge tone="ok">Live</Badge> : <Badge tone="plain">{states[r.state]}</Badge>) },
  { name: "Published", cell: (r) => <Moment at={r.at} /> },
  { name: "By", cell: (r) => r.authorName ?? <code className="font-mono text-[0.9rem]">{r.author}</code> },
  { name: "Why", wide: true, cell: (r) => r.reason ?? (r.restores ? `Rolled back to revision ${r.restores}` : r.testRunId ? "Its test passed" : "") },
];
