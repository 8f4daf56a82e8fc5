import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Button } from "../../components/button";
import { Switch } from "../../components/choices";
import { fileClass, TextField } from "../../components/field";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Badge } from "../../components/status";
import { api, unwrapTagged, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { plural } from "../../lib/format";
import { Problem } from "../../lib/problem";

type Plan = Schemas["ImportPlan"];
type Document = Schemas["Declaration"];

/** So many changes of one thing are listed. */
const MOST = 50;

/** Reads an exported document; YAML is for the command line. */
function read(text: string, name: string): Document {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Document;
  } catch {
    // Said below, for what is no object, too.
  }
  throw new Problem({ title: "This is no exported document", detail: `${name} is not a JSON object`, remedy: "Choose a file that Save the export or sluice export wrote; sluice import reads YAML and directories too." });
}

/** A document into the workspace: what it would change is shown first, and only that is applied. */
export function Import({ admin }: { admin: boolean }) {
  const queries = useQueryClient();
  const id = useId();
  const [file, setFile] = useState<{ name: string; text: string }>();
  const [prune, setPrune] = useState(false);
  const [reason, setReason] = useState("");
  const run = useMutation({
    mutationFn: async ({ dryRun, etag }: { dryRun: boolean; etag?: string }) => {
      const body = read(file?.text ?? "", file?.name ?? "");
      const query = { ...(dryRun ? { dryRun } : {}), ...(prune ? { prune } : {}), ...(reason.trim() ? { reason: reason.trim() } : {}) };
      return unwrapTagged(api.POST("/v1/import", { params: { query, ...(etag ? { header: { "If-Match": etag } } : {}) }, body }));
    },
    onSuccess: (_, { dryRun }) => (dryRun ? undefined : queries.invalidateQueries()),
  });
  const forget = () => run.reset();
  const plan = run.data?.data;
  const stale = run.error instanceof Problem && run.error.status === 412;
  return (
    <Card title="Import">
      <div className="space-y-3">
        <p className="text-muted">Toolsets are created and changed to what the document says, and published where it says live. What would change is shown first. Nothing is read from the network.</p>
        <div>
          <label htmlFor={id} className="mb-1 block font-medium">
            Exported document
          </label>
          <input
            id={id}
            type="file"
            accept=".json,application/json"
            className={fileClass}
            onChange={(e) => {
              const chosen = e.target.files?.[0];
              forget();
              setFile(undefined);
              void chosen?.text().then((text) => setFile({ name: chosen.name, text }));
            }}
          />
        </div>
        {admin ? (
          <Switch
            label="Delete toolsets that are not in it"
            note="Only for a document of the whole workspace"
            checked={prune}
            onChecked={(on) => {
              forget();
              setPrune(on);
            }}
          />
        ) : null}
        <TextField label="Why" autoComplete="off" maxLength={500} placeholder="imported" hint="Recorded with what is published" value={reason} onChange={(e) => setReason(e.target.value)} />
        <div className="flex flex-wrap gap-3">
          <Button busy={run.isPending} disabled={!file} onClick={() => run.mutate({ dryRun: true })}>
            Show what would change
          </Button>
          {plan?.dryRun && plan.changes > 0 ? (
            <Button kind="primary" busy={run.isPending} onClick={() => run.mutate({ dryRun: false, etag: run.data?.etag ?? "*" })}>
              Import it
            </Button>
          ) : null}
        </div>
        <p role="status">
          {run.isPending ? "Comparing" : !plan ? "" : plan.changes === 0 ? "Nothing differs: the workspace is as the document says." : plan.dryRun ? `${plural(plan.changes, "change")}. Nothing was changed yet.` : `Imported: ${plural(plan.changes, "change")}.`}
        </p>
        {run.isError ? <ProblemNote error={run.error} /> : null}
        {stale ? <p>Somebody changed the workspace meanwhile. Look at what would change again, then import it.</p> : null}
        {plan ? <PlanList plan={plan} /> : null}
        <p className="text-muted">
          The same in a terminal:{" "}
          <code className="font-mono break-words text-text">
            sluice import {shellWord(file?.name ?? "sluice-export.json")}
            {prune ? " --prune" : ""} --dry-run
          </code>
        </p>
      </div>
    </Card>
  );
}

const actions = {
  create: <Badge tone="ok">Created</Badge>,
  update: <Badge tone="warn">Changed</Badge>,
  none: <Badge tone="plain">As it is</Badge>,
  extra: <Badge tone="plain">Not in it, stays</Badge>,
  delete: <Badge tone="bad">Deleted</Badge>,
};

function PlanList({ plan }: { plan: Plan }) {
  const settings = [...(plan.channels ?? []).map((s) => ({ ...s, of: "Channel" })), ...(plan.alertRules ?? []).map((s) => ({ ...s, of: "Alert rule" }))];
  return (
    <ul aria-label="What the import changes" className="divide-y divide-line rounded-md border border-line">
      {plan.toolsets.map((t) => (
        <li key={t.slug} className="px-3 py-2">
          <p className="flex flex-wrap items-center gap-2">
            <span className="font-mono font-medium break-all">{t.slug}</span>
            {actions[t.action]}
            {t.revision ? <span className="text-muted">Revision {t.revision}</span> : null}
          </p>
          <Changes changes={t.changes} />
          {t.missing?.length ? <p className="break-words text-warn">Its secrets are not in the document, so it is not published before they are entered: {t.missing.join(", ")}</p> : null}
          {t.origins?.map((o) => (
            <p key={o.connector} className="break-words text-warn">
              Calls of {o.connector} would go to {o.to.join(", ")} instead of {o.from.join(", ")}
              {o.new?.length ? `: it is not published until an administrator confirms ${o.new.join(", ")}.` : "."}
            </p>
          ))}
          {t.warnings?.map((w) => (
            <p key={w.pointer} className="break-words text-warn">
              {w.plugin}: {w.detail}
            </p>
          ))}
        </li>
      ))}
      {settings.map((s) => (
        <li key={`${s.of} ${s.name} ${s.toolset}`} className="px-3 py-2">
          <p className="flex flex-wrap items-center gap-2">
            <span className="break-all">
              {s.of} {s.name}
              {s.toolset ? ` of ${s.toolset}` : ""}
            </span>
            {actions[s.action]}
          </p>
          <Changes changes={s.changes} />
        </li>
      ))}
      {plan.publisherKeys?.map((name) => (
        <li key={name} className="px-3 py-2">
          Publisher {name} is trusted
        </li>
      ))}
    </ul>
  );
}

function Changes({ changes = [] }: { changes?: Schemas["PlannedChange"][] | undefined }) {
  if (changes.length === 0) return null;
  return (
    <ul>
      {changes.slice(0, MOST).map((c) => (
        <li key={c.pointer} className="mt-1 break-words">
          <code className="font-mono text-[0.86rem] text-muted">{c.pointer}</code>
          {c.from === undefined ? null : <del className="block decoration-bad">{c.from}</del>}
          {c.to === undefined ? null : <ins className="block no-underline">{c.to}</ins>}
        </li>
      ))}
      {changes.length > MOST ? <li className="text-muted">And {plural(changes.length - MOST, "more change")}.</li> : null}
    </ul>
  );
}
