import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { CodeBlock, CommandLine } from "../../components/copy";
import { Dialog } from "../../components/dialog";
import { Select, TextField } from "../../components/field";
import { Moment } from "../../components/moment";
import { Card, Fact, Page } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { count, milliseconds, percent, plural, saved } from "../../lib/format";
import { useCan } from "../../lib/session";
import { pluginQuery, PLUGINS, versionQuery, type Plugin, type Version } from "./queries";
import { VersionState } from "./state";

export function PluginPage() {
  const { name } = useParams({ from: "/plugins/$name" });
  const { version } = useSearch({ from: "/plugins/$name" });
  const plugin = useQuery(pluginQuery(name));
  if (plugin.isError || plugin.isPending) {
    return <Page title={name}>{plugin.isError ? <ProblemNote error={plugin.error} retry={() => void plugin.refetch()} /> : <Skeleton />}</Page>;
  }
  const shown = version ?? plugin.data.latest ?? plugin.data.versions[0]?.version ?? "";
  return <Shown key={name} plugin={plugin.data} version={shown} />;
}

function Shown({ plugin, version }: { plugin: Plugin; version: string }) {
  const { name } = plugin;
  const navigate = useNavigate();
  const detail = useQuery(versionQuery(name, version));
  const publisher = useCan("publisher");
  return (
    <Page
      title={name}
      lead={
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <Link to="/plugins" className="text-accent underline">Plugins</Link>
          <span>{plugin.kind}</span>
          {plugin.description ? <span>{plugin.description}</span> : null}
        </span>
      }
      actions={
        <>
          <Select label="Version" hidden value={version} onChange={(e) => void navigate({ to: "/plugins/$name", params: { name }, search: { version: e.target.value } })}>
            {plugin.versions.map((v) => (
              <option key={v.version} value={v.version}>
                {v.version}
                {v.status === "yanked" ? " (yanked)" : ""}
              </option>
            ))}
          </Select>
          {detail.data && publisher ? <Yank key={version} version={detail.data} /> : null}
        </>
      }
    >
      {detail.isError ? <ProblemNote error={detail.error} retry={() => void detail.refetch()} /> : null}
      {detail.isPending ? <Skeleton /> : null}
      {detail.data ? <Detail version={detail.data} publisher={publisher} /> : null}
      <CommandLine command={`sluice plugin show ${name}@${version}`} />
    </Page>
  );
}

const MIB = 1024 * 1024;

function Detail({ version: v, publisher }: { version: Version; publisher: boolean }) {
  const asks = v.capabilities;
  const capabilities = [
    asks?.hosts?.length ? `hosts ${asks.hosts.join(", ")}` : "",
    asks?.tools?.length ? `tools ${asks.tools.join(", ")}` : "",
    asks?.signing ? `signing (${asks.signing.algorithm})` : "",
    asks?.clock ? "the clock" : "",
    asks?.random ? "random numbers" : "",
  ].filter(Boolean);
  return (
    <div className="space-y-5">
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Card title={`Version ${v.version}`}>
          <dl>
            <Fact name="State"><VersionState version={v} /></Fact>
            {v.yankReason ? <Fact name="Yanked because">{v.yankReason}</Fact> : null}
            <Fact name="Published"><Moment at={v.publishedAt} /> by {v.publishedBy}</Fact>
            <Fact name="Signature">
              {v.signature.publisher} <code className="font-mono text-[0.86rem] break-all text-muted">{v.signature.keyId}</code>
            </Fact>
            <Fact name="Digest"><code className="font-mono text-[0.86rem] break-all">{v.digest}</code></Fact>
            <Fact name="Size">{plural(v.sizeBytes, "byte")}</Fact>
            <Fact name="ABI">{v.abi}</Fact>
            {v.effect ? <Fact name="What it does to answers">{effects[v.effect]}</Fact> : null}
          </dl>
        </Card>
        <div className="space-y-5">
          <Card title="Limits">
            <dl>
              <Fact name="Memory">{(v.limits.memoryBytes / MIB).toFixed(1)} MiB</Fact>
              <Fact name="Deadline">{milliseconds(v.limits.deadlineMs)}</Fact>
              {v.limits.calls ? <Fact name="Calls of tools">{count(v.limits.calls)}</Fact> : null}
              <Fact name="May use">{capabilities.length > 0 ? capabilities.join("; ") : "nothing but what it is given"}</Fact>
            </dl>
          </Card>
          <Card title="On all nodes">
            <dl>
              <Fact name="Calls">{count(v.live.calls)}</Fact>
              <Fact name="Errors">{`${count(v.live.errors)} (${percent(v.live.errors, v.live.calls)})`}</Fact>
              <Fact name="Traps, deadlines">{`${count(v.live.traps)}, ${count(v.live.deadlines)}`}</Fact>
              <Fact name="Mean time">{v.live.calls > 0 ? milliseconds(v.live.meanUs / 1000) : "–"}</Fact>
              {v.live.unbound > 0 ? <Fact name="Taken out of calls by itself">{plural(v.live.unbound, "time")}</Fact> : null}
            </dl>
          </Card>
        </div>
      </div>
      <Card title="Toolsets that bind it">
        {v.usedBy?.length ? (
          <ul className="flex flex-wrap gap-x-4 gap-y-1">
            {v.usedBy.map((slug) => (
              <li key={slug}>
                <Link to="/toolsets/$slug/plugins" params={{ slug }} className="text-accent underline">
                  {slug}
                </Link>
              </li>
            ))}
          </ul>
        ) : (
          <p className="text-muted">
            None. The page <em>Plugins</em> of a toolset binds it, as <code className="font-mono text-text">sluice plugin bind TOOLSET {v.name}</code> does.
          </p>
        )}
      </Card>
      <Golden version={v} publisher={publisher} />
    </div>
  );
}

const effects = { subset: "Leaves parts of them out", replace: "Rewrites them", text: "Makes text of them" } as const;

const cases: Column<Schemas["PluginCaseResult"]>[] = [
  { name: "Case", cell: (c) => <span className="break-all">{c.name}</span> },
  { name: "Result", cell: (c) => <Badge tone={c.ok ? "ok" : "bad"}>{c.ok ? "Passed" : "Failed"}</Badge> },
  { name: "Tokens", number: true, cell: (c) => `${count(c.tokensBefore)} → ${count(c.tokensAfter)} (${saved(c.tokensBefore, c.tokensAfter)})` },
  { name: "Took", number: true, cell: (c) => `${c.us.toFixed(1)} µs` },
];

/** The golden cases of the version, and running them again. */
function Golden({ version: v, publisher }: { version: Version; publisher: boolean }) {
  const queries = useQueryClient();
  const test = useMutation({
    mutationFn: () => unwrap(api.POST("/v1/plugins/{name}/versions/{version}/test", { params: { path: { name: v.name, version: v.version } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: PLUGINS }),
  });
  const m = test.data ?? v.measured;
  const failed = m.cases.filter((c) => !c.ok && c.diff);
  return (
    <Card
      title="Golden cases"
      flush
      actions={
        publisher ? (
          <Button busy={test.isPending} onClick={() => test.mutate()}>
            Run them again
          </Button>
        ) : null
      }
    >
      {test.isError ? <div className="p-3"><ProblemNote error={test.error} /></div> : null}
      <p role="status" className="border-b border-line px-4 py-3 text-muted">
        Run <Moment at={m.at} />: median {m.p50us.toFixed(1)} µs, {saved(m.tokensBefore, m.tokensAfter)} tokens.
      </p>
      <Table label="Golden cases" columns={cases} rows={m.cases} id={(c) => c.name} />
      {failed.map((c) => (
        <div key={c.name} className="p-3">
          <CodeBlock label={`what differs in ${c.name}`} text={c.diff ?? ""} />
        </div>
      ))}
    </Card>
  );
}

/** Takes a version out of what can be bound, or puts it back. */
function Yank({ version: v }: { version: Version }) {
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const undo = v.status === "yanked";
  const yank = useMutation({
    mutationFn: (body: Schemas["YankRequest"]) => unwrap(api.POST("/v1/plugins/{name}/versions/{version}/yank", { params: { path: { name: v.name, version: v.version } }, body })),
    onSuccess: () => setOpen(false),
    onSettled: () => queries.invalidateQueries({ queryKey: PLUGINS }),
  });
  const shut = () => {
    yank.reset();
    setOpen(false);
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    yank.mutate(undo ? { undo } : { reason: String(new FormData(event.currentTarget).get("reason") ?? "").trim() });
  };
  return (
    <>
      <Button kind={undo ? "plain" : "danger"} onClick={() => setOpen(true)}>
        {undo ? "Undo the yank" : "Yank"}
      </Button>
      <Dialog title={undo ? `Put ${v.version} back` : `Yank ${v.version}`} open={open} onClose={shut}>
        <form onSubmit={submit} className="space-y-4">
          <p className="text-muted">{undo ? "It can be bound again." : "It can no longer be bound. Toolsets that bind it keep it, and show that it was yanked."}</p>
          {undo ? null : <TextField label="Why" name="reason" required maxLength={500} hint="For whoever uses it" />}
          {yank.isError ? <ProblemNote error={yank.error} /> : null}
          <p className="text-muted">
            The same in a terminal: <code className="font-mono break-all text-text">{`sluice plugin yank ${v.name}@${v.version} ${undo ? "--undo" : "--reason TEXT"}`}</code>
          </p>
          <div className="flex justify-end gap-2">
            <Button onClick={shut}>Cancel</Button>
            <Button kind={undo ? "primary" : "danger"} type="submit" busy={yank.isPending}>
              {undo ? "Put it back" : "Yank"}
            </Button>
          </div>
        </form>
      </Dialog>
    </>
  );
}
