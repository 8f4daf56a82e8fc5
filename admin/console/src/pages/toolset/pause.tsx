import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { ProblemNote } from "../../components/problem";
import { api, unwrap, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { ago, date, plural } from "../../lib/format";
import { useCan } from "../../lib/session";

type Toolset = Schemas["Toolset"];

const resume = (slug: string) => unwrap(api.POST("/v1/toolsets/{id}/resume", { params: { path: { id: slug } } }));

/** That callers are refused, why, and the way back. */
export function PauseNote({ toolset: t }: { toolset: Toolset }) {
  const queries = useQueryClient();
  const editor = useCan("editor");
  const again = useMutation({ mutationFn: () => resume(t.slug), onSettled: () => queries.invalidateQueries() });
  if (!t.paused) return null;
  return (
    <section aria-label="The pause" className="mb-5 rounded-lg border border-line bg-surface p-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <p className="min-w-0 flex-1 basis-60 break-words">
          Paused <time dateTime={t.paused.since} title={date(t.paused.since)}>{ago(t.paused.since)}</time>: every caller is refused{t.paused.reason ? `, and reads “${t.paused.reason}”` : ""}.
        </p>
        {editor ? (
          <Button kind="primary" busy={again.isPending} onClick={() => again.mutate()}>
            Resume
          </Button>
        ) : null}
      </div>
      {again.isError ? <ProblemNote error={again.error} /> : null}
    </section>
  );
}

/** Buttons that pause and, of chosen ones (done), resume those of the toolsets that can be. */
export function PauseButtons({ toolsets, done }: { toolsets: Toolset[]; done?: () => void }) {
  const [open, setOpen] = useState(false);
  const [reason, setReason] = useState("");
  const queries = useQueryClient();
  const serving = toolsets.filter((t) => t.status === "live" && !t.paused);
  const paused = toolsets.filter((t) => t.paused);
  // One after the other: each makes a release.
  const settled = { onSuccess: () => done?.(), onSettled: () => queries.invalidateQueries() };
  const pause = useMutation({
    mutationFn: async () => {
      for (const t of serving) await unwrap(api.POST("/v1/toolsets/{id}/pause", { params: { path: { id: t.slug } }, body: { reason: reason.trim() } }));
      setOpen(false);
    },
    ...settled,
  });
  const again = useMutation({
    mutationFn: async () => {
      for (const t of paused) await resume(t.slug);
    },
    ...settled,
  });
  const one = toolsets.length === 1 ? toolsets[0] : undefined;
  const said = reason.trim() ? ` --reason ${shellWord(reason.trim())}` : "";
  return (
    <>
      {serving.length > 0 ? <Button onClick={() => setOpen(true)}>{done ? `Pause ${plural(serving.length, "toolset")}` : "Pause"}</Button> : null}
      {paused.length > 0 && done ? (
        <Button busy={again.isPending} onClick={() => again.mutate()}>
          Resume {plural(paused.length, "toolset")}
        </Button>
      ) : null}
      {again.isError ? <ProblemNote error={again.error} /> : null}
      <FormDialog
        title={one ? `Pause ${one.name}` : `Pause ${plural(serving.length, "toolset")}`}
        open={open}
        close={() => setOpen(false)}
        does={pause}
        submit={() => pause.mutate()}
        action="Pause"
        danger
        command={`sluice toolset pause ${one ? one.slug : "TOOLSET"}${said}`}
      >
        <p>Every caller is refused and open streams end, until somebody resumes {one ? "it" : "them"}. Calls that run are finished.</p>
        <TextField label="Reason" hint="Callers are told, and the audit log keeps it." maxLength={200} value={reason} onChange={(e) => setReason(e.target.value)} />
      </FormDialog>
    </>
  );
}
