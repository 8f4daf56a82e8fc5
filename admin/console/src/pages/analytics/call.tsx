import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Button } from "../../components/button";
import { CodeBlock } from "../../components/copy";
import { Dialog } from "../../components/dialog";
import { Fact } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Table, type Column } from "../../components/table";
import type { Schemas } from "../../lib/api";
import { count, milliseconds, saved, second } from "../../lib/format";
import { useCan } from "../../lib/session";
import { OutcomeBadge } from "./outcome";
import { callOf } from "./queries";

type Detail = Schemas["CallDetail"];

const stages: Column<{ name: string; ms: number }>[] = [
  { name: "Stage", cell: (s) => s.name },
  { name: "Took", number: true, cell: (s) => milliseconds(s.ms) },
];

/** One call: how it ended, where its time went, and what was kept of it. */
export function CallDrawer({ id, close }: { id: string; close: () => void }) {
  const editor = useCan("editor");
  const call = useQuery({ ...callOf(id), enabled: id !== "" && editor });
  return (
    <Dialog wide title={`Call ${id}`} open={id !== ""} onClose={close}>
      {editor ? null : <p>Editors and administrators read single calls: arguments and answers may be in them.</p>}
      {call.isError ? <ProblemNote error={call.error} retry={() => void call.refetch()} /> : null}
      {editor && call.isPending ? <Skeleton rows={4} /> : null}
      {call.data ? <Whole call={call.data} /> : null}
      <p className="mt-4 text-muted">
        The same in a terminal: <code className="font-mono break-all text-text">sluice logs show {id}</code>
      </p>
      <div className="mt-4 flex justify-end">
        <Button onClick={close}>Close</Button>
      </div>
    </Dialog>
  );
}

function Whole({ call: c }: { call: Detail }) {
  const d = c.duration;
  const rows = [
    { name: "Arguments, request, credential, cache", ms: d.prepareMs },
    { name: "Waiting for the upstream", ms: d.upstreamMs },
    { name: "Response programs and plugins", ms: d.shapeMs },
    { name: "The text that the agent reads", ms: d.encodeMs },
    { name: "In all", ms: d.totalMs },
  ];
  return (
    <div className="space-y-4">
      <dl>
        <Fact name="When">{second(c.at)}</Fact>
        <Fact name="Tool">
          <span className="font-mono">{c.tool}</span>
          {c.toolset ? <> of <Link to="/toolsets/$slug" params={{ slug: c.toolset }} className="text-accent underline">{c.toolset}</Link></> : null}, revision {c.revision}
        </Fact>
        <Fact name="Outcome"><OutcomeBadge call={c} /> {c.cause ?? ""}</Fact>
        {c.status ? <Fact name="Status of the upstream">{c.status}</Fact> : null}
        <Fact name="Credential">{c.credential}</Fact>
        <Fact name="Caller">{c.caller.name ? `${c.caller.name} (${c.caller.id})` : c.caller.id ? `${c.caller.kind} ${c.caller.id}` : c.caller.kind}</Fact>
        <Fact name="Node">{c.node}{c.cached ? ", answered from the cache" : ""}</Fact>
        <Fact name="Bytes of the answer">{count(c.bytes.before)} → {count(c.bytes.after)}</Fact>
        <Fact name="Tokens of the answer">{count(c.tokens.before)} → {count(c.tokens.after)} ({saved(c.tokens.before, c.tokens.after)})</Fact>
        {c.trace ? <Fact name="Trace"><code className="font-mono break-all">{c.trace}</code></Fact> : null}
      </dl>
      <Table label="Where its time went" columns={stages} rows={rows} id={(s) => s.name} />
      {c.captured ? (
        <>
          {c.arguments ? <CodeBlock label="the arguments" text={c.arguments} /> : null}
          {c.answer ? <CodeBlock label="the answer" text={c.answer} /> : null}
        </>
      ) : (
        <p className="text-muted">
          What it said was not kept. From now on: <code className="font-mono text-text">sluice logs capture {c.toolset ?? "TOOLSET"} errors</code>
        </p>
      )}
    </div>
  );
}
