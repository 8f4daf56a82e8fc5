import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useId, useState } from "react";
import { Switch } from "../../components/choices";
import { CodeBlock } from "../../components/copy";
import { Select, TextArea, TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { ProblemNote } from "../../components/problem";
import type { Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { milliseconds } from "../../lib/format";
import { objectOf } from "../../lib/object";
import { toolsetQuery, toolsQuery } from "../../lib/queries";
import { useCan } from "../../lib/session";
import { pluginQuery, pluginsQuery, versionQuery } from "../plugins/queries";
import { bare, grantWords, ofWhat, placeFlags, placeOf, put, useBindings, type Binding, type Bound, type Grants } from "./bindings";

interface Props {
  slug: string;
  /** The binding that is changed; "new": another one is made; null: the dialog is closed. */
  edited: Bound | "new" | null;
  close: () => void;
}

interface Form {
  plugin: string;
  range: string;
  place: "toolset" | "connector" | "tool";
  connector: string;
  tool: string;
  onError: "" | "pass" | "fail";
  config: string;
  errorPercent: string;
  meanMs: string;
  granted: Grants | undefined;
  calls: Record<string, string>;
  update: boolean;
}

const formOf = (b: Bound | undefined): Form => ({
  plugin: b?.plugin ?? "",
  range: b?.version ?? "",
  place: b?.tool || b?.operation ? "tool" : b?.connector ? "connector" : "toolset",
  connector: b?.connector ?? "",
  tool: b?.tool ?? "",
  onError: b?.onError ?? "",
  config: b?.config ? JSON.stringify(b.config, null, 2) : "",
  errorPercent: b?.unbind?.errorPercent ? String(b.unbind.errorPercent) : "",
  meanMs: b?.unbind?.meanMs ? String(b.unbind.meanMs) : "",
  granted: b?.grants,
  calls: b?.calls ?? {},
  update: false,
});

/** Binds a plugin, or changes how it is bound. */
export function BindPlugin({ slug, edited, close }: Props) {
  // Another binding begins with what it has.
  return edited === null ? null : <BindForm key={edited === "new" ? "new" : placeOf(edited)} slug={slug} bound={edited === "new" ? undefined : edited} close={close} />;
}

function BindForm({ slug, bound, close }: { slug: string; bound: Bound | undefined; close: () => void }) {
  const [form, setForm] = useState(() => formOf(bound));
  const [fault, setFault] = useState<{ config?: string; tool?: string }>({});
  const set = (part: Partial<Form>) => {
    setForm((f) => ({ ...f, ...part }));
    setFault({});
  };
  const published = useInfiniteQuery(pluginsQuery);
  const toolset = useQuery(toolsetQuery(slug)).data?.data;
  const plugins = (published.data?.pages.flatMap((p) => p.items) ?? []).filter((p) => p.latest);
  const plugin = form.plugin || (plugins[0]?.name ?? "");
  const versions = useQuery({ ...pluginQuery(plugin), enabled: plugin !== "" });
  const newest = bound && !form.update ? bound.pinned : (bound?.newer ?? versions.data?.latest ?? "");
  const version = useQuery(versionQuery(plugin, newest)).data;
  const asks = version?.asks;
  const bind = useBindings(slug, close);
  const place = form.place === "tool" ? (bound && !bound.tool ? { operation: bound.operation } : { tool: form.tool.trim() }) : form.place === "connector" ? { connector: form.connector || toolset?.connectors[0]?.name } : {};
  const granted = form.granted ?? bound?.grants ?? {};

  const submit = () => {
    const config = objectOf(form.config);
    if (!config) return setFault({ config: "Write a JSON object." });
    if (form.place === "tool" && "tool" in place && !place.tool) return setFault({ tool: "Enter the name of a tool." });
    const unbind = { ...(form.errorPercent ? { errorPercent: Number(form.errorPercent) } : {}), ...(form.meanMs ? { meanMs: Number(form.meanMs) } : {}) };
    const binding: Binding = {
      plugin,
      ...place,
      ...(form.range.trim() ? { version: form.range.trim() } : {}),
      ...(Object.keys(config).length > 0 ? { config } : {}),
      ...(form.onError ? { onError: form.onError } : {}),
      ...(asks ? { grants: granted, decided: true } : {}),
      ...(Object.keys(unbind).length > 0 ? { unbind } : {}),
      ...(Object.keys(form.calls).length > 0 ? { calls: form.calls } : {}),
      ...(form.update ? { update: true } : {}),
    };
    bind.mutate((all) => put(all, bound ? { ...binding, ...placeOnly(bound) } : binding));
  };

  if (published.isError) return <ProblemNote error={published.error} retry={() => void published.refetch()} />;
  const command = `sluice plugin bind ${slug} ${plugin || "PLUGIN"}${form.range.trim() ? `@${shellWord(form.range.trim())}` : ""}${placeFlags({ plugin, ...place })}${
    objectOf(form.config) && form.config.trim() ? ` --set ${shellWord(JSON.stringify(objectOf(form.config)))}` : ""
  }${asks ? ` --grant ${grantWords(granted)}` : ""}${form.onError ? ` --on-error ${form.onError}` : ""}${form.update ? " --update" : ""}`;
  return (
    <FormDialog title={bound ? `${bound.plugin} for ${ofWhat(bound)}` : "Bind a plugin"} open close={close} does={bind} action={bound ? "Save" : "Bind it"} disabled={!plugin} command={command} noValidate submit={submit}>
      {published.data && plugins.length === 0 ? (
        <p className="text-muted">
          No plugin is published that can be bound. <Link to="/plugins" className="text-accent underline">Publish one</Link> first.
        </p>
      ) : null}
      {bound ? null : (
        <>
          <Select label="Plugin" value={plugin} onChange={(e) => set({ plugin: e.target.value, granted: undefined, calls: {}, config: "" })}>
            {plugins.map((p) => (
              <option key={p.name} value={p.name}>
                {p.name} {p.latest}, {p.kind}
              </option>
            ))}
          </Select>
          {version?.description ? <p className="text-muted">{version.description}</p> : null}
          <Select label="For" value={form.place} onChange={(e) => set({ place: e.target.value as Form["place"] })}>
            <option value="toolset">All tools of the toolset</option>
            <option value="connector">The tools of a connector</option>
            {version?.kind === "workflow" ? null : <option value="tool">One tool</option>}
          </Select>
          {form.place === "connector" ? (
            <Select label="Connector" value={form.connector} onChange={(e) => set({ connector: e.target.value })}>
              {toolset?.connectors.map((c) => (
                <option key={c.name} value={c.name}>
                  {c.name}
                </option>
              ))}
            </Select>
          ) : null}
          {form.place === "tool" ? <ToolField slug={slug} value={form.tool} error={fault.tool} onValue={(tool) => set({ tool })} /> : null}
        </>
      )}
      <TextField label="Range of versions" autoComplete="off" spellCheck={false} placeholder={newest ? `^${newest}` : ""} hint="It is pinned to the newest version of the range, and stays at it until it is moved." value={form.range} onChange={(e) => set({ range: e.target.value })} />
      {bound?.newer ? <Switch label={`Move to ${bound.newer}`} checked={form.update} onChecked={(update) => set({ update })} /> : null}
      {asks ? <GrantFields asks={asks} granted={granted} had={bound?.grants} onGranted={(next) => set({ granted: next })} /> : null}
      {version?.config ? (
        <>
          <TextArea label="Configuration" spellCheck={false} placeholder="{}" hint="A JSON object, checked against the schema of the plugin" error={fault.config} value={form.config} onChange={(e) => set({ config: e.target.value })} />
          <details>
            <summary className="min-h-6 text-accent">The schema of its configuration</summary>
            <CodeBlock low label="the schema of the configuration" text={JSON.stringify(version.config, null, 2)} />
          </details>
        </>
      ) : null}
      {version?.capabilities?.tools?.map((name) => (
        <TextField
          key={name}
          label={`Tool that it calls as ${name}`}
          autoComplete="off"
          spellCheck={false}
          placeholder={name}
          hint="Left empty, the tool of that name"
          value={form.calls[name] ?? ""}
          onChange={(e) => set({ calls: Object.fromEntries(Object.entries({ ...form.calls, [name]: e.target.value.trim() }).filter(([, tool]) => tool !== "")) })}
        />
      ))}
      <Select label="When it fails" value={form.onError} onChange={(e) => set({ onError: e.target.value as Form["onError"] })}>
        <option value="">As its kind has it: an error where it takes out what must not be seen</option>
        <option value="fail">The agent gets an error</option>
        <option value="pass">The answer goes on as the plugin got it</option>
      </Select>
      <details>
        <summary className="min-h-6 text-accent">When it is left out by itself</summary>
        <div className="mt-2 space-y-3">
          <TextField label="Percent of 20 calls that may fail" type="number" min={1} max={100} placeholder="50" hint="100: any" value={form.errorPercent} onChange={(e) => set({ errorPercent: e.target.value })} />
          <TextField label="Mean milliseconds of 20 calls" type="number" min={1} placeholder="half of its deadline" value={form.meanMs} onChange={(e) => set({ meanMs: e.target.value })} />
        </div>
      </details>
      <p className="text-muted">It changes the draft: what is live stays until the draft is deployed.</p>
    </FormDialog>
  );
}

/** A binding that is changed stays where it is. */
function placeOnly(b: Bound): Pick<Binding, "connector" | "tool" | "operation"> {
  const { connector, tool, operation } = bare(b);
  return { ...(connector ? { connector } : {}), ...(tool ? { tool } : {}), ...(operation ? { operation } : {}) };
}

function ToolField({ slug, value, error, onValue }: { slug: string; value: string; error: string | undefined; onValue: (tool: string) => void }) {
  const id = useId();
  const tools = useInfiniteQuery(toolsQuery(slug)).data?.pages.flatMap((p) => p.items) ?? [];
  return (
    <>
      <TextField label="Tool" list={id} autoComplete="off" spellCheck={false} value={value} error={error} onChange={(e) => onValue(e.target.value)} />
      <datalist id={id}>
        {tools.map((t) => (
          <option key={t.name} value={t.name}>{t.name}</option>
        ))}
      </datalist>
    </>
  );
}

/** What a plugin asks for, to be granted or refused one by one. */
function GrantFields({ asks, granted, had, onGranted }: { asks: Schemas["PluginGrants"]; granted: Grants; had: Grants | undefined; onGranted: (next: Grants) => void }) {
  const admin = useCan("admin");
  const hosts = granted.hosts ?? [];
  const host = (name: string, on: boolean) => {
    const next = on ? [...hosts, name] : hosts.filter((h) => h !== name);
    const { hosts: _, ...rest } = granted;
    onGranted(next.length > 0 ? { ...rest, hosts: next } : rest);
  };
  const flag = (name: "clock" | "random", on: boolean) => {
    const { [name]: _, ...rest } = granted;
    onGranted(on ? { ...rest, [name]: true } : rest);
  };
  const deadline = (on: boolean) => {
    const { deadlineMs: _, ...rest } = granted;
    onGranted(on && asks.deadlineMs ? { ...rest, deadlineMs: asks.deadlineMs } : rest);
  };
  return (
    <fieldset className="min-w-0" disabled={!admin && !had}>
      <legend className="mb-1 font-medium">It asks for</legend>
      {asks.hosts?.map((h) => <Switch key={h} label={`Calling ${h}`} checked={hosts.includes(h)} onChecked={(on) => host(h, on)} />)}
      {asks.clock ? <Switch label="The real time" checked={granted.clock ?? false} onChecked={(on) => flag("clock", on)} /> : null}
      {asks.random ? <Switch label="Real random numbers" checked={granted.random ?? false} onChecked={(on) => flag("random", on)} /> : null}
      {asks.deadlineMs ? <Switch label={`${milliseconds(asks.deadlineMs)} of processor time for a call`} checked={granted.deadlineMs !== undefined} onChecked={deadline} /> : null}
      <p className="mt-1 text-muted">{admin ? "What is not checked is refused." : "Granting more than it has needs the role admin: an editor binds it with nothing granted."}</p>
    </fieldset>
  );
}
