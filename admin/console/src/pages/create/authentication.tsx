import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { allKinds, bodyOfAll, keyKinds, kindOf, titleOf, togetherOf, type Auth } from "../../components/credential";
import { CredentialList, listed, missingOfAll } from "../../components/credentiallist";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, unwrap, type Schemas } from "../../lib/api";
import { plural } from "../../lib/format";
import { toolsetQuery } from "../../lib/queries";
import { Configured } from "../toolset/configured";
import { Next } from "./steps";

const itemsOf = (set: Schemas["Authentication"] | undefined) => (set?.authType === "list" ? (set.items ?? []) : set ? [set] : []);
const logsIn = (set: Schemas["Authentication"] | undefined) => itemsOf(set).some((item) => item.grant === "authorization_code");

/** How often a login that was begun is looked at, in milliseconds. */
const EVERY = 2000;

export function Authentication() {
  const { slug } = useParams({ from: "/toolsets/new/$slug" });
  const toolset = useQuery({ ...toolsetQuery(slug), refetchInterval: (query) => (itemsOf(query.state.data?.data.authentication).some((item) => item.loginPending) ? EVERY : false) });
  if (!toolset.data) return null; // The layout says why.
  const t = toolset.data.data;
  return t.source.kind !== "mcp" && logsIn(t.authentication) ? <LogIn key={slug} toolset={t} /> : <Form key={slug} toolset={t} />;
}

/** What is set needs a person who logs in: that is next. */
function LogIn({ toolset: t }: { toolset: Schemas["ToolsetDetail"] }) {
  const [replacing, setReplacing] = useState(false);
  const navigate = useNavigate();
  if (replacing) return <Form toolset={t} saved={() => setReplacing(false)} />;
  const items = itemsOf(t.authentication);
  const ready = items.every((item) => item.grant !== "authorization_code" || item.state === "ok");
  return (
    <div className="space-y-5">
      <Card title="Log in">
        <div className="space-y-4">
          {items.map((item) => (
            <Configured key={item.credentialId ?? item.scheme ?? item.preview} slug={t.slug} connector={t.connectors[0]?.name ?? ""} item={item} editor />
          ))}
          <Button onClick={() => setReplacing(true)}>Replace the credential</Button>
        </div>
      </Card>
      <Next back="/toolsets/new/$slug/review" slug={t.slug}>
        <Button kind={ready ? "primary" : "plain"} onClick={() => void navigate({ to: "/toolsets/new/$slug/names", params: { slug: t.slug } })}>
          {ready ? "Continue" : "Continue without"}
        </Button>
      </Next>
      <CommandLine command={`sluice toolset auth ${t.slug} login`} />
    </div>
  );
}

function Form({ toolset: t, saved }: { toolset: Schemas["ToolsetDetail"]; saved?: () => void }) {
  const methods = t.authenticationMethods;
  const mcp = t.source.kind === "mcp";
  const offered = mcp ? keyKinds : allKinds;
  // A key is quicker than a login where the specification takes either.
  const [entered, setEntered] = useState(() => listed(togetherOf(methods, methods.some((m) => keyKinds.some((kind) => kind === kindOf(m.suggestion))) ? keyKinds : offered)));
  const [missing, setMissing] = useState<(keyof Auth)[][]>([]);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const on = () => navigate({ to: mcp ? "/toolsets/new/$slug/review" : "/toolsets/new/$slug/names", params: { slug: t.slug } });

  const save = useMutation({
    mutationFn: async () => {
      const { etag } = await queries.fetchQuery({ ...toolsetQuery(t.slug), staleTime: 0 });
      return unwrap(api.PUT("/v1/toolsets/{id}/authentication", { params: { path: { id: t.slug }, header: { "If-Match": etag } }, body: bodyOfAll(entered.map((one) => one.auth)) }));
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["toolset", t.slug] });
      saved?.();
      // A login is this step still.
      if (mcp || !entered.some((one) => one.auth.grant === "authorization_code")) await on();
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const empty = missingOfAll(entered);
    setMissing(empty);
    if (empty.every((fields) => fields.length === 0)) save.mutate();
  };
  return (
    <form onSubmit={submit} noValidate className="space-y-5">
      <Card title={mcp ? "What the server was asked with" : "What the specification asks for"}>
        {mcp && !t.authentication ? <p className="text-muted">Nothing: it told what it has without a credential. Enter one only if its tools want one all the same.</p> : null}
        {mcp && t.authentication && !t.authentication.preview ? <p>{titleOf(t.authentication) ?? t.authentication.authType}</p> : null}
        {methods.length === 0 && !mcp ? <p className="text-muted">Nothing: no operation names a security scheme. Enter a key only if the API wants one all the same.</p> : null}
        <ul className="space-y-1">
          {methods.map((m) => (
            <li key={m.id} className="break-words">
              <span className="font-medium">{m.id}</span>: {titleOf(m.suggestion) ?? m.type}, for {plural(m.operations, "tool")}
              {m.with ? `, together with ${m.with.join(" and ")}` : ""}
              {m.unsupported ? `. ${m.unsupported}` : null}
            </li>
          ))}
        </ul>
        {t.authentication?.preview ? (
          <p className={mcp ? "" : "mt-3"}>
            Set: <code className="font-mono break-all">{t.authentication.preview}</code>
          </p>
        ) : null}
      </Card>
      <CredentialList
        entered={entered}
        methods={methods}
        offered={offered}
        title={t.authentication ? "Replace the credential" : "Credential"}
        missing={missing}
        error={save.error}
        onChange={(next) => {
          setEntered(next);
          setMissing([]);
        }}
      />
      {save.isError ? <ProblemNote error={save.error} /> : null}
      <Next back={mcp ? "/toolsets/new/mcp" : "/toolsets/new/$slug/review"} slug={t.slug}>
        <Button onClick={() => void on()}>{t.authentication ? "Keep it" : methods.length > 0 ? "Continue without" : "Skip"}</Button>
        <Button type="submit" kind="primary" busy={save.isPending}>
          Save and continue
        </Button>
      </Next>
      <CommandLine command={`sluice toolset auth ${t.slug} set`} />
    </form>
  );
}
