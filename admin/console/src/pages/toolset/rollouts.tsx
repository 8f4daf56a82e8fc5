import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { Choices } from "../../components/choices";
import { Confirm } from "../../components/confirm";
import { Select, TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { ago, count, date, milliseconds, plural } from "../../lib/format";
import { finish } from "../../lib/jobs";
import { Problem } from "../../lib/problem";
import { rolloutsQuery } from "../../lib/queries";
import { useCan } from "../../lib/session";

type Rollout = Schemas["Rollout"];
type Side = Schemas["RolloutSide"] & { name: string };

const states = {
  running: <Badge tone="ok">Running</Badge>,
  promoted: <Badge tone="plain">Promoted</Badge>,
  rolled_back: <Badge tone="bad">Rolled back</Badge>,
  aborted: <Badge tone="plain">Aborted</Badge>,
};

const modeOf = (r: Rollout) => (r.mode === "shadow" ? "Shadow" : `Canary, ${r.percent ?? 0} % of the callers`);

const changeOf = ({ kind, name = "", from, to }: Schemas["RolloutChange"]) =>
  kind === "settings" ? "settings" : `${kind} ${name}${from && to ? ` ${from} → ${to}` : to ? ` ${to}, new` : " is gone"}`;

const columns: Column<Rollout>[] = [
  { name: "Started", cell: (r) => <time dateTime={r.startedAt} title={date(r.startedAt)} className="whitespace-nowrap">{ago(r.startedAt)}</time> },
  { name: "How", cell: modeOf },
  { name: "State", cell: (r) => states[r.state] },
  { name: "Changes", wide: true, cell: (r) => r.changes.map(changeOf).join(", ") },
  { name: "Why", wide: true, cell: (r) => <span className="break-words">{r.reason ?? ""}</span> },
];

const sides: Column<Side>[] = [
  { name: "Side", cell: (s) => s.name },
  { name: "Calls", number: true, cell: (s) => count(s.calls) },
  { name: "Failed", number: true, cell: (s) => `${s.errorPercent.toFixed(1)} %` },
  { name: "95 % within", number: true, cell: (s) => (s.calls > 0 ? milliseconds(s.p95Ms) : "–") },
  { name: "Tokens of an answer", number: true, cell: (s) => (s.calls > 0 ? count(Math.round(s.meanTokens)) : "–") },
];

/** The roll-outs of a toolset: the one that runs with what was counted, and those before. */
export function Rollouts({ toolset: t }: { toolset: Schemas["ToolsetDetail"] }) {
  const rollouts = useQuery(rolloutsQuery(t.slug));
  const editor = useCan("editor");
  const [starting, setStarting] = useState(false);
  const [ending, setEnding] = useState<"promote" | "abort" | null>(null);
  if (rollouts.isError) return <ProblemNote error={rollouts.error} retry={() => void rollouts.refetch()} />;
  if (rollouts.isPending) return <Skeleton rows={1} />;
  const all = rollouts.data.rollouts;
  const running = all.find((r) => r.state === "running");
  const past = all.filter((r) => r !== running);
  const startable = editor && !running && t.status === "live" && t.changed;
  return (
    <Card title="Roll-outs" flush actions={startable ? <Button onClick={() => setStarting(true)}>Roll the draft out</Button> : undefined}>
      {running ? <Running rollout={running} {...(editor ? { end: setEnding } : {})} /> : null}
      {past.length > 0 ? <Table label="Roll-outs" columns={columns} rows={past} id={(r) => r.id} /> : null}
      {all.length === 0 ? (
        <p className="p-4 text-muted">
          None yet. A roll-out runs a changed draft beside what is live first: a new version of a plugin or a connector, or another change.{t.status === "draft" ? " Nothing is live yet." : t.changed ? "" : " The draft has nothing that is not live."}
        </p>
      ) : null}
      <p className="border-t border-line px-4 py-2 text-muted">
        The same in a terminal: <code className="font-mono break-words text-text">sluice toolset rollout show {t.slug}</code>
      </p>
      <Start slug={t.slug} open={starting} close={() => setStarting(false)} />
      <Confirm
        title={ending === "promote" ? "Promote the candidate" : "Abort the roll-out"}
        of={ending}
        action={ending === "promote" ? "Make it live" : "Abort it"}
        command={`sluice toolset rollout ${ending} ${t.slug}`}
        run={(verb) =>
          verb === "promote"
            ? unwrap(api.POST("/v1/toolsets/{id}/rollouts/{rollout}/promote", { params: { path: { id: t.slug, rollout: running?.id ?? "current" } }, body: {} }))
            : unwrap(api.POST("/v1/toolsets/{id}/rollouts/{rollout}/abort", { params: { path: { id: t.slug, rollout: running?.id ?? "current" } }, body: {} }))
        }
        stale={["toolset", t.slug]}
        close={() => setEnding(null)}
      >
        <p>{ending === "promote" ? "It becomes the next revision, for all callers." : "What is live goes on for all callers. The draft stays as it is."}</p>
      </Confirm>
    </Card>
  );
}

function Running({ rollout: r, end }: { rollout: Rollout; end?: (verb: "promote" | "abort") => void }) {
  return (
    <div className="space-y-3 border-b border-line p-4 last:border-0">
      <p className="flex flex-wrap items-center gap-2">
        {states.running}
        <span>
          {modeOf(r)}, since {date(r.startedAt)}, beside revision {r.liveRevision}: {r.changes.map(changeOf).join(", ")}.
        </span>
      </p>
      <Table label="What was counted" columns={sides} rows={[{ ...r.live, name: "Live" }, { ...r.candidate, name: "Candidate" }]} id={(s) => s.name} />
      {r.mode === "shadow" ? (
        <p>
          {r.differenceShare.toFixed(1)} % of the compared calls differ: {plural(r.different, "answer")}, {plural(r.requests?.any ?? 0, "request")}, {plural(r.missing, "call")} of tools that the candidate does not have.
          {r.skipped > 0 ? ` Not compared, because it was busy or they were too large: ${plural(r.skipped, "call")}.` : ""}
        </p>
      ) : null}
      {r.thresholds ? (
        <p className="text-muted">
          It is rolled back when {r.thresholds.errorPoints} points more of its calls fail or 95 % take {r.thresholds.latencyPercent} % longer, from {plural(r.thresholds.minCalls ?? 0, "call")} of each side on.
          {r.promoteAt ? ` It is promoted by itself ${date(r.promoteAt)}, if it is not worse then.` : ""}
        </p>
      ) : null}
      {end ? (
        <div className="flex flex-wrap gap-2">
          <Button kind="primary" onClick={() => end("promote")}>
            Promote
          </Button>
          <Button onClick={() => end("abort")}>Abort</Button>
        </div>
      ) : (
        <p className="text-muted">Editors promote and abort it.</p>
      )}
    </div>
  );
}

const afters: [string, number, string][] = [
  ["Only by hand", 0, ""],
  ["After an hour", 3600, "1h"],
  ["After six hours", 21_600, "6h"],
  ["After a day", 86_400, "24h"],
];

/** Starts a roll-out of the draft, which is tested first unless there is a reason not to. */
function Start({ slug, open, close }: { slug: string; open: boolean; close: () => void }) {
  const queries = useQueryClient();
  const [mode, setMode] = useState<"shadow" | "canary">("shadow");
  const [percent, setPercent] = useState("10");
  const [after, setAfter] = useState(0);
  const [reason, setReason] = useState("");
  const [phase, setPhase] = useState("");
  const start = useMutation({
    mutationFn: async () => {
      if (!reason.trim()) {
        const run = await finish<Schemas["TestAnswer"]>(api.POST("/v1/toolsets/{id}/test", { params: { path: { id: slug } }, body: { keepDraft: true } }), setPhase);
        if (!run.passed) throw new Problem({ title: "The test of the draft did not pass", detail: run.reason ?? "", remedy: "Test it in the playground with a tool of your choice, or say why it is rolled out without a test." });
      }
      const canary = mode === "canary" ? { percent: Number(percent), ...(after > 0 ? { promoteAfterSeconds: after } : {}) } : {};
      return unwrap(api.POST("/v1/toolsets/{id}/rollouts", { params: { path: { id: slug } }, body: { mode, ...canary, ...(reason.trim() ? { untestedReason: reason.trim() } : {}) } }));
    },
    onSuccess: () => close(),
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  const wait = afters.find(([, seconds]) => seconds === after)?.[2];
  const how = mode === "shadow" ? "--shadow" : `--canary ${percent || 10}%${wait ? ` --promote-after ${wait}` : ""}`;
  return (
    <FormDialog
      title="Roll the draft out"
      open={open}
      close={close}
      does={start}
      submit={() => start.mutate()}
      action="Start it"
      command={`sluice toolset rollout start ${slug} ${how}${reason.trim() ? ` --reason ${shellWord(reason.trim())}` : ""}`}
    >
      <Choices
        label="How"
        value={mode}
        onValue={setMode}
        choices={[
          { value: "shadow", name: "Shadow", note: "It runs on the answers of live calls. It sends nothing, nobody gets what it makes, and what differs is counted" },
          { value: "canary", name: "Canary", note: "A share of the callers gets it. It is rolled back by itself when it is worse" },
        ]}
      />
      {mode === "canary" ? (
        <>
          <TextField label="Percent of the callers" type="number" min={1} max={100} required value={percent} onChange={(e) => setPercent(e.target.value)} />
          <Select label="Promote" value={after} onChange={(e) => setAfter(Number(e.target.value))}>
            {afters.map(([name, seconds]) => (
              <option key={seconds} value={seconds}>
                {name}
              </option>
            ))}
          </Select>
        </>
      ) : null}
      <TextField label="Why without a test" maxLength={500} hint="Left empty, the draft is tested first" value={reason} onChange={(e) => setReason(e.target.value)} />
      <p role="status" className="text-muted">
        {start.isPending ? phase || "Testing the draft" : ""}
      </p>
    </FormDialog>
  );
}
