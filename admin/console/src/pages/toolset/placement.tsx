import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent, type ReactNode } from "react";
import { Button } from "../../components/button";
import { Select, TextField } from "../../components/field";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, unwrap, unwrapTagged, type Schemas } from "../../lib/api";
import { ago, date } from "../../lib/format";
import { readLabels, writeLabels } from "../../lib/labels";
import { Problem } from "../../lib/problem";
import { toolsetQuery } from "../../lib/queries";
import { useCan } from "../../lib/session";

interface Saving {
  isPending: boolean;
  isError: boolean;
  isSuccess: boolean;
  error: unknown;
  reset: () => void;
}

/** One setting that is in force at once, with the command that does the same. */
function Setting({ title, command, saving, dirty, allowed, needs, save, reload, children }: {
  title: string;
  command: string;
  saving: Saving;
  dirty: boolean;
  allowed: boolean;
  needs: string;
  save: () => void;
  reload: () => void;
  children: ReactNode;
}) {
  const submit = (e: FormEvent) => {
    e.preventDefault();
    save();
  };
  const again = () => {
    saving.reset();
    reload();
  };
  return (
    <Card title={title}>
      <form onSubmit={submit} noValidate className="space-y-3">
        <fieldset disabled={!allowed} className="min-w-0 space-y-3">
          <legend className="sr-only">{title}</legend>
          {children}
          {allowed ? (
            <div className="flex flex-wrap items-center gap-3">
              <Button type="submit" busy={saving.isPending} disabled={!dirty} aria-label={`Save: ${title}`}>
                Save
              </Button>
              <span role="status" className="text-muted">
                {saving.isSuccess && !dirty ? "Saved." : ""}
              </span>
            </div>
          ) : (
            <p className="text-muted">Changing it needs the role {needs}.</p>
          )}
        </fieldset>
        {saving.isError ? <ProblemNote error={saving.error} {...(saving.error instanceof Problem && saving.error.status === 412 ? { retry: again } : {})} /> : null}
        <p className="break-words text-muted">
          <code className="font-mono text-[0.9rem]">{command}</code>
        </p>
      </form>
    </Card>
  );
}

type Mode = Schemas["CaptureSettings"]["capture"];

/** What the call log keeps of what calls said. */
export function Capture({ slug }: { slug: string }) {
  const queries = useQueryClient();
  const capture = useQuery({
    queryKey: ["toolset", slug, "capture"],
    queryFn: () => unwrapTagged(api.GET("/v1/toolsets/{id}/capture", { params: { path: { id: slug } } })),
  });
  const [entered, setEntered] = useState<Mode>();
  const stored = capture.data?.data.capture ?? "off";
  const value = entered ?? stored;
  const reload = () => queries.invalidateQueries({ queryKey: ["toolset", slug, "capture"] });
  const save = useMutation({
    mutationFn: () => unwrap(api.PUT("/v1/toolsets/{id}/capture", { params: { path: { id: slug }, header: { "If-Match": capture.data?.etag ?? "" } }, body: { capture: value } })),
    onSuccess: async () => {
      await reload();
      setEntered(undefined);
    },
  });
  const admin = useCan("admin");
  if (capture.isError) return <ProblemNote error={capture.error} retry={() => void capture.refetch()} />;
  return (
    <Setting title="Call log" command={`sluice logs capture ${slug}${value === stored ? "" : ` ${value}`}`} saving={save} dirty={value !== stored} allowed={admin} needs="admin" save={() => save.mutate()} reload={() => void reload()}>
      <Select label="Keeps what calls said" value={value} onChange={(e) => setEntered(e.target.value as Mode)}>
        <option value="off">Of no call</option>
        <option value="errors">Of calls that failed</option>
        <option value="all">Of every call</option>
      </Select>
      <p className="text-muted">Secrets are taken out where they look like some. What does not is kept as it is.</p>
    </Setting>
  );
}

/** The edges that a toolset goes to. */
export function Labels({ slug, etag }: { slug: string; etag: string }) {
  const queries = useQueryClient();
  const labels = useQuery({
    queryKey: ["toolset", slug, "labels"],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/labels", { params: { path: { id: slug } } })),
  });
  const [entered, setEntered] = useState<string>();
  const stored = writeLabels(labels.data?.labels ?? {});
  const value = entered ?? stored;
  const read = readLabels(value);
  const save = useMutation({
    mutationFn: (body: Record<string, string>) => unwrap(api.PUT("/v1/toolsets/{id}/labels", { params: { path: { id: slug }, header: { "If-Match": etag } }, body: { labels: body } })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["toolset", slug] });
      setEntered(undefined);
    },
  });
  const editor = useCan("editor");
  if (labels.isError) return <ProblemNote error={labels.error} retry={() => void labels.refetch()} />;
  return (
    <Setting
      title="Edges"
      command={`sluice toolset labels ${slug}${value === stored ? "" : value.trim() === "" ? " --clear" : ` ${value}`}`}
      saving={save}
      dirty={value !== stored}
      allowed={editor}
      needs="editor"
      save={() => read && save.mutate(read)}
      reload={() => void queries.fetchQuery({ ...toolsetQuery(slug), staleTime: 0 })}
    >
      <TextField
        label="Labels"
        autoComplete="off"
        spellCheck={false}
        placeholder="region=eu tier=gold"
        hint="It goes to the edges that have all of them; without labels to every edge."
        error={read ? undefined : "Write NAME=VALUE, with blanks between several."}
        value={value}
        onChange={(e) => setEntered(e.target.value)}
      />
    </Setting>
  );
}

const intervals: [number, string, string][] = [
  [0, "Never", "off"],
  [3600, "Every hour", "1h"],
  [21_600, "Every 6 hours", "6h"],
  [86_400, "Every day", "24h"],
  [604_800, "Every week", "168h"],
];

/** How often the specification is read again. */
export function Schedule({ slug, connector, several }: { slug: string; connector: string; several: boolean }) {
  const queries = useQueryClient();
  const schedule = useQuery({
    queryKey: ["toolset", slug, "schedule", connector],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/schedule", { params: { path: { id: slug }, query: { connector } } })),
  });
  const [entered, setEntered] = useState<number>();
  const stored = schedule.data?.everySeconds ?? 0;
  const value = entered ?? stored;
  const save = useMutation({
    mutationFn: () => unwrap(api.PUT("/v1/toolsets/{id}/schedule", { params: { path: { id: slug } }, body: { connector, everySeconds: value } })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["toolset", slug] });
      setEntered(undefined);
    },
  });
  const editor = useCan("editor");
  if (schedule.isError) return <ProblemNote error={schedule.error} retry={() => void schedule.refetch()} />;
  const known = intervals.some(([seconds]) => seconds === stored);
  const word = intervals.find(([seconds]) => seconds === value)?.[2] ?? `${value}s`;
  const of = several ? ` --connector ${connector}` : "";
  const s = schedule.data;
  return (
    <Setting title={several ? `Specification of ${connector}` : "Specification"} command={`sluice toolset schedule ${slug}${value === stored ? "" : ` ${word}`}${of}`} saving={save} dirty={value !== stored} allowed={editor} needs="editor" save={() => save.mutate()} reload={() => void schedule.refetch()}>
      <Select label="Read again" value={value} onChange={(e) => setEntered(Number(e.target.value))}>
        {known ? null : <option value={stored}>Every {stored} seconds</option>}
        {intervals.map(([seconds, name]) => (
          <option key={seconds} value={seconds}>
            {name}
          </option>
        ))}
      </Select>
      <p className="text-muted">
        What breaks nothing is tested and deployed; the rest waits.
        {s?.checkedAt ? (
          <>
            {" "}
            Read <time dateTime={s.checkedAt} title={date(s.checkedAt)}>{ago(s.checkedAt)}</time>.
          </>
        ) : null}
      </p>
      {s?.fault ? <p className="break-words text-bad">{s.fault}</p> : null}
      {s?.waiting ? (
        <p className="text-warn">
          A change waits: <code className="font-mono">sluice toolset accept {slug}{of}</code>
        </p>
      ) : null}
    </Setting>
  );
}
