import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { bodyOf, CredentialFields, firstOf, keyKinds, kindOf, missingOf, titleOf, type Auth, type Method } from "../../components/credential";
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

export function Authentication() {
  const { slug } = useParams({ from: "/toolsets/new/$slug" });
  const toolset = useQuery(toolsetQuery(slug));
  return toolset.data ? <Form key={slug} toolset={toolset.data.data} /> : null;
}

function Form({ toolset: t }: { toolset: Schemas["ToolsetDetail"] }) {
  const methods = t.authenticationMethods;
  const [auth, setAuth] = useState(() => firstOf(undefined, methods, keyKinds));
  const [missing, setMissing] = useState<(keyof Auth)[]>([]);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const mcp = t.source.kind === "mcp";
  const on = () => navigate({ to: mcp ? "/toolsets/new/$slug/review" : "/toolsets/new/$slug/test", params: { slug: t.slug } });

  const save = useMutation({
    mutationFn: async () => {
      const { etag } = await queries.fetchQuery({ ...toolsetQuery(t.slug), staleTime: 0 });
      return unwrap(api.PUT("/v1/toolsets/{id}/authentication", { params: { path: { id: t.slug }, header: { "If-Match": etag } }, body: bodyOf(auth) }));
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["toolset", t.slug] });
      await on();
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const empty = missingOf(auth);
    setMissing(empty);
    if (empty.length === 0) save.mutate();
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
      <Card title={t.authentication ? "Replace the credential" : "Credential"}>
        <CredentialFields
          auth={auth}
          offered={keyKinds}
          missing={missing}
          error={save.error}
          onChange={(next) => {
            setAuth(next);
            setMissing([]);
          }}
        />
      </Card>
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
