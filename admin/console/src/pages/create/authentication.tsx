import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { bodyOfAll, CredentialFields, firstOf, keyKinds, kindOf, missingOf, titleOf, togetherOf, type Auth, type Method } from "../../components/credential";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, unwrap, type Schemas } from "../../lib/api";
import { plural } from "../../lib/format";
import { toolsetQuery } from "../../lib/queries";
import { Next } from "./steps";

/** Whether a scheme of the specification can be fulfilled here; else the command line has it. */
const fits = (m: Method) => {
  const kind = kindOf(m.suggestion);
  return kind !== undefined && keyKinds.includes(kind);
};

/** So many credentials are combined at the most. */
const MOST = 16;

/** What one more credential begins with: a method that none of them is of yet. */
const another = (methods: Method[], auths: Auth[]): Auth => {
  const rest = methods.filter((m) => fits(m) && !auths.some((a) => a.scheme === m.id || sameName(a, m.suggestion)));
  return firstOf(undefined, rest, keyKinds);
};

const sameName = (a: Auth, m: Method["suggestion"]) =>
  a.authType === m?.authType && a.headerName === m.headerName && a.parameterName === m.parameterName && a.cookieName === m.cookieName;

export function Authentication() {
  const { slug } = useParams({ from: "/toolsets/new/$slug" });
  const toolset = useQuery(toolsetQuery(slug));
  return toolset.data ? <Form key={slug} toolset={toolset.data.data} /> : null;
}

function Form({ toolset: t }: { toolset: Schemas["ToolsetDetail"] }) {
  const methods = t.authenticationMethods;
  const [auths, setAuths] = useState(() => togetherOf(methods, keyKinds));
  const [missing, setMissing] = useState<(keyof Auth)[][]>([]);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const mcp = t.source.kind === "mcp";
  const on = () => navigate({ to: mcp ? "/toolsets/new/$slug/review" : "/toolsets/new/$slug/test", params: { slug: t.slug } });

  const save = useMutation({
    mutationFn: async () => {
      const { etag } = await queries.fetchQuery({ ...toolsetQuery(t.slug), staleTime: 0 });
      return unwrap(api.PUT("/v1/toolsets/{id}/authentication", { params: { path: { id: t.slug }, header: { "If-Match": etag } }, body: bodyOfAll(auths) }));
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["toolset", t.slug] });
      await on();
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const empty = auths.map((auth) => missingOf(auth));
    setMissing(empty);
    if (empty.every((fields) => fields.length === 0)) save.mutate();
  };
  const change = (next: Auth[]) => {
    setAuths(next);
    setMissing([]);
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
              {m.unsupported ? `. ${m.unsupported}` : null}
              {m.unsupported || fits(m) ? null : (
                <>
                  . It is set on the page{" "}
                  <Link to="/toolsets/$slug/authentication" params={{ slug: t.slug }} className="text-accent underline">
                    Authentication
                  </Link>{" "}
                  of the toolset
                </>
              )}
            </li>
          ))}
        </ul>
        {t.authentication?.preview ? (
          <p className={mcp ? "" : "mt-3"}>
            Set: <code className="font-mono break-all">{t.authentication.preview}</code>
          </p>
        ) : null}
      </Card>
      {auths.map((auth, i) => {
        const name = auths.length === 1 ? (t.authentication ? "Replace the credential" : "Credential") : `Credential ${i + 1} of ${auths.length}${auth.scheme ? `: ${auth.scheme}` : ""}`;
        return (
          // oxlint-disable-next-line no-array-index-key -- they have no other name, and are added and taken away at the end
          <fieldset key={i}>
            <legend className="sr-only">{name}</legend>
            <Card
              title={name}
              actions={i > 0 && i === auths.length - 1 ? <Button onClick={() => change(auths.slice(0, -1))}>Remove this credential</Button> : null}
            >
              <CredentialFields
                auth={auth}
                offered={keyKinds}
                missing={missing[i] ?? []}
                error={save.error}
                at={auths.length > 1 ? `/items/${i}` : ""}
                onChange={(next) => change(auths.map((a, n) => (n === i ? next : a)))}
              />
            </Card>
          </fieldset>
        );
      })}
      {auths.length < MOST ? (
        <div className="flex flex-wrap items-center gap-3">
          <Button onClick={() => change([...auths, another(methods, auths)])}>Add a credential</Button>
          <p className="text-muted">For an API that needs two keys in each call.</p>
        </div>
      ) : null}
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
