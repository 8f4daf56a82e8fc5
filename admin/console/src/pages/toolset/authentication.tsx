import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { allKinds, bodyOfAll, firstOf, titleOf, togetherOf, type Auth } from "../../components/credential";
import { CredentialList, listed, missingOfAll, type Entered } from "../../components/credentiallist";
import { Dialog } from "../../components/dialog";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Badge } from "../../components/status";
import { api, unwrap, type Schemas } from "../../lib/api";
import { milliseconds, plural } from "../../lib/format";
import { finish } from "../../lib/jobs";
import { Problem } from "../../lib/problem";
import { toolsetQuery } from "../../lib/queries";
import { useCan } from "../../lib/session";
import { Configured } from "./configured";
import { Origins } from "./origins";
import { UserLogins } from "./userlogins";

type Connector = Schemas["ToolsetConnector"];

/** How often a login that was begun is looked at, in milliseconds. */
const EVERY = 2000;

const pending = (c: Connector) => Boolean(c.authentication?.loginPending || c.authentication?.items?.some((i) => i.loginPending));

export function Authentication() {
  const { slug } = useParams({ from: "/toolsets/$slug" });
  const toolset = useQuery({ ...toolsetQuery(slug), refetchInterval: (query) => (query.state.data?.data.connectors.some(pending) ? EVERY : false) });
  if (!toolset.data) return null; // The layout says why.
  const { connectors } = toolset.data.data;
  return (
    <div className="space-y-5">
      {connectors.map((c) => (
        <Credential key={c.name} slug={slug} connector={c} several={connectors.length > 1} etag={toolset.data.etag} />
      ))}
      <CommandLine command={`sluice toolset auth ${slug}`} />
    </div>
  );
}

function Credential({ slug, connector: c, several, etag }: { slug: string; connector: Connector; several: boolean; etag: string }) {
  const set = c.authentication;
  const editor = useCan("editor");
  const [replacing, setReplacing] = useState(false);
  const [removing, setRemoving] = useState(false);
  const items = set?.authType === "list" ? (set.items ?? []) : set ? [set] : [];
  return (
    <Card title={several ? `${c.name}: ${c.source.title}` : c.source.title}>
      <div className="space-y-4">
        <Needs connector={c} />
        {items.map((item) => (
          <Configured key={item.credentialId ?? item.scheme ?? item.preview} slug={slug} connector={c.name} item={item} editor={editor} />
        ))}
        {items.length === 0 ? <p>No credential is set.</p> : null}
        {set ? <Origins slug={slug} connector={c.name} /> : null}
        {items.some((i) => i.perUser) ? <UserLogins slug={slug} connector={c.name} editor={editor} /> : null}
        {editor ? (
          <div className="flex flex-wrap items-start gap-2">
            {replacing ? null : (
              <Button kind={set ? "plain" : "primary"} onClick={() => setReplacing(true)}>
                {set ? "Replace the credential" : "Set a credential"}
              </Button>
            )}
            {set ? <Button onClick={() => setRemoving(true)}>Remove it</Button> : null}
            <Test slug={slug} connector={c.name} several={several} />
          </div>
        ) : (
          <p className="text-muted">Setting it needs the role editor.</p>
        )}
        {replacing ? <Replace slug={slug} connector={c} etag={etag} close={() => setReplacing(false)} /> : null}
      </div>
      <Remove slug={slug} connector={c.name} several={several} etag={etag} open={removing} close={() => setRemoving(false)} />
    </Card>
  );
}

/** What the specification asks for. */
function Needs({ connector: c }: { connector: Connector }) {
  const methods = c.authenticationMethods;
  if (methods.length === 0) {
    return <p className="text-muted">{c.source.kind === "mcp" ? "The MCP server says when a call comes what it wants." : "The specification asks for no credential."}</p>;
  }
  return (
    <div>
      <h3 className="font-medium">{methods.length > 1 ? "The specification knows" : "The specification asks for"}</h3>
      <ul className="mt-1 space-y-1">
        {methods.map((m) => (
          <li key={m.id} className="break-words">
            <code className="font-mono">{m.id}</code>: {titleOf(m.suggestion) ?? m.type}
            {m.name ? ` ${m.name}` : ""}, for {plural(m.operations, "tool")}
            {m.with ? `, together with ${m.with.join(" and ")}` : ""}
            {m.unsupported ? `. ${m.unsupported}` : ""}
            {m.description ? <span className="block text-muted">{m.description}</span> : null}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Replace({ slug, connector: c, etag, close }: { slug: string; connector: Connector; etag: string; close: () => void }) {
  const set = c.authentication;
  const queries = useQueryClient();
  const [entered, setEntered] = useState(() => first(c));
  const [missing, setMissing] = useState<(keyof Auth)[][]>([]);
  const [opened] = useState({ etag, as: asSet(c) });
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector("select")?.focus(), []);
  const send = (match: string) =>
    unwrap(
      api.PUT("/v1/toolsets/{id}/connectors/{connector}/authentication", {
        params: { path: { id: slug, connector: c.name }, header: { "If-Match": match } },
        body: bodyOfAll(entered.map((one) => one.auth), set && set.authType !== "list" ? entered[0]?.stored?.scheme : undefined),
      }),
    );
  const save = useMutation({
    // What else of the toolset changed since the form was opened, as a test of it does, is none of its business.
    mutationFn: async (over: "mine" | "same") => {
      const { data, etag: now } = await queries.fetchQuery({ ...toolsetQuery(slug), staleTime: 0 });
      const same = asSet(data.connectors.find((other) => other.name === c.name)) === opened.as;
      return send(over === "mine" || same ? now : opened.etag);
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["toolset", slug] });
      close();
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const empty = missingOfAll(entered);
    setMissing(empty);
    if (empty.every((fields) => fields.length === 0)) save.mutate("same");
  };
  return (
    <form ref={form} onSubmit={submit} noValidate aria-label={`Credential of ${c.name}`} className="space-y-4 border-t border-line pt-4">
      <CredentialList
        entered={entered}
        methods={c.authenticationMethods}
        offered={allKinds}
        title={set ? "Replace the credential" : "Credential"}
        missing={missing}
        error={save.error}
        onChange={(next) => {
          setEntered(next);
          setMissing([]);
        }}
      />
      {save.isError ? <ProblemNote error={save.error} {...(save.error instanceof Problem && save.error.status === 412 ? { retry: () => save.mutate("mine") } : {})} /> : null}
      <div className="flex flex-wrap items-center gap-3">
        <Button type="submit" kind="primary" busy={save.isPending}>
          Save the credential
        </Button>
        <Button onClick={close}>Cancel</Button>
        <p className="text-muted">A new key of the same kind is used at once; another kind or name is a change of the draft.</p>
      </div>
    </form>
  );
}

/** A credential as somebody set it, without how it fares. */
function asSet(c: Connector | undefined): string {
  const fares = new Set(["state", "lastError", "loginPending", "expiresAt"]);
  return JSON.stringify(c?.authentication, (key, value: unknown) => (fares.has(key) ? undefined : value)) ?? "";
}

/** What the form begins with: each that is set without its secret, else what the specification wants together. */
function first(c: Connector): Entered[] {
  const set = c.authentication;
  if (set) {
    const stored = set.authType === "list" ? (set.items ?? []) : [set];
    return listed(stored.map((one) => firstOf(one, c.authenticationMethods, allKinds)), stored);
  }
  if (c.source.kind === "mcp") return listed([{ authType: "oauth2", grant: "authorization_code", resource: c.baseUrl }]);
  return listed(togetherOf(c.authenticationMethods, allKinds));
}

/** Calls one tool that only reads, and leaves the draft as it is. */
function Test({ slug, connector, several }: { slug: string; connector: string; several: boolean }) {
  const queries = useQueryClient();
  const [phase, setPhase] = useState("");
  const test = useMutation({
    mutationFn: () =>
      finish<Schemas["TestAnswer"]>(api.POST("/v1/toolsets/{id}/test", { params: { path: { id: slug } }, body: { keepDraft: true, ...(several ? { connector } : {}) } }), setPhase),
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  const run = test.data;
  return (
    <>
      <Button busy={test.isPending} onClick={() => test.mutate()}>
        Test it
      </Button>
      <div role="status" className="flex basis-full flex-wrap items-center gap-x-3 gap-y-1">
        {test.isPending ? <span className="text-muted">{phase || "Calling the API"}</span> : null}
        {run && !test.isPending ? (
          <>
            {run.passed ? <Badge tone="ok">Passed</Badge> : <Badge tone="bad">Failed</Badge>}
            {run.tool ? <code className="font-mono break-all">{run.tool}</code> : null}
            {run.upstreamStatus ? <span>HTTP {run.upstreamStatus}</span> : null}
            {run.tool ? <span className="tabular-nums">{milliseconds(run.durationSeconds * 1000)}</span> : null}
            {run.reason ? <span className="w-full break-words">{run.reason}</span> : null}
            {run.possible ? null : (
              <Link to="/playground" search={{ toolset: slug }} className="text-accent underline">
                Choose a tool in the playground
              </Link>
            )}
          </>
        ) : null}
      </div>
      {test.isError ? (
        <div className="basis-full">
          <ProblemNote error={test.error} />
        </div>
      ) : null}
    </>
  );
}

function Remove({ slug, connector, several, etag, open, close }: { slug: string; connector: string; several: boolean; etag: string; open: boolean; close: () => void }) {
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () =>
      unwrap(api.DELETE("/v1/toolsets/{id}/connectors/{connector}/authentication", { params: { path: { id: slug, connector }, header: { "If-Match": etag } } })),
    onSuccess: () => close(),
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  const shut = () => {
    remove.reset();
    close();
  };
  return (
    <Dialog title="Remove the credential" open={open} onClose={shut}>
      <p>The secret is destroyed at once: what is live answers with an error until the toolset is deployed again.</p>
      {remove.isError ? (
        <div className="mt-3">
          <ProblemNote error={remove.error} />
        </div>
      ) : null}
      <p className="mt-3 text-muted">
        The same in a terminal:{" "}
        <code className="font-mono text-text">
          sluice toolset auth {slug} remove{several ? ` --connector ${connector}` : ""}
        </code>
      </p>
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={shut}>Cancel</Button>
        <Button kind="danger" busy={remove.isPending} onClick={() => remove.mutate()}>
          Remove it
        </Button>
      </div>
    </Dialog>
  );
}
