import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { Select, TextField } from "../../components/field";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, unwrap, type Schemas } from "../../lib/api";
import { plural } from "../../lib/format";
import { asProblem } from "../../lib/problem";
import { toolsetQuery } from "../../lib/queries";
import { Next } from "./steps";

type Auth = Schemas["SetAuth"];
type Method = Schemas["AuthMethod"];

/** The fields of each type that is entered here, and which of them are secret. */
const fields: Partial<Record<Auth["authType"], { key: keyof Auth; label: string; secret?: boolean; optional?: boolean; hint?: string }[]>> = {
  header: [
    { key: "headerName", label: "Header name" },
    { key: "headerPrefix", label: "Header prefix", optional: true, hint: "Put directly before the key, with its own space." },
    { key: "apiKey", label: "API key", secret: true },
  ],
  bearer: [{ key: "token", label: "Token", secret: true }],
  basic: [
    { key: "username", label: "User name" },
    { key: "password", label: "Password", secret: true },
  ],
  query: [
    { key: "parameterName", label: "Query parameter" },
    { key: "apiKey", label: "API key", secret: true },
  ],
  cookie: [
    { key: "cookieName", label: "Cookie name" },
    { key: "apiKey", label: "API key", secret: true },
  ],
  oauth2: [
    { key: "tokenUrl", label: "Token URL" },
    { key: "clientId", label: "Client ID" },
    { key: "clientSecret", label: "Client secret", secret: true },
  ],
};

const titles: Record<string, string> = {
  header: "Key in a header",
  bearer: "Bearer token",
  basic: "User name and password",
  query: "Key in the query",
  cookie: "Key in a cookie",
  oauth2: "OAuth 2 client credentials",
};

/** The type of a scheme that can be entered here; undefined: the command line has it. */
const typeOf = (m: Method) => {
  const type = m.suggestion?.authType as Auth["authType"] | undefined;
  if (!type || !fields[type]) return undefined;
  return type === "oauth2" && m.suggestion?.grant !== "client_credentials" ? undefined : type;
};

const start = (methods: Method[]): Auth => {
  const fit = methods.find((m) => typeOf(m));
  if (!fit) return { authType: "header", headerName: "Authorization", headerPrefix: "Bearer " };
  const { scopes: _, ...suggestion } = fit.suggestion ?? {};
  return { ...suggestion, authType: typeOf(fit) ?? "header" } as Auth;
};

export function Authentication() {
  const { slug } = useParams({ from: "/toolsets/new/$slug" });
  const toolset = useQuery(toolsetQuery(slug));
  return toolset.data ? <Form key={slug} toolset={toolset.data.data} /> : null;
}

function Form({ toolset: t }: { toolset: Schemas["ToolsetDetail"] }) {
  const methods = t.authenticationMethods;
  const [auth, setAuth] = useState(() => start(methods));
  const [missing, setMissing] = useState<string[]>([]);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const on = () => navigate({ to: "/toolsets/new/$slug/test", params: { slug: t.slug } });

  const save = useMutation({
    mutationFn: async () => {
      const { etag } = await queries.fetchQuery({ ...toolsetQuery(t.slug), staleTime: 0 });
      return unwrap(api.PUT("/v1/toolsets/{id}/authentication", { params: { path: { id: t.slug }, header: { "If-Match": etag } }, body: auth }));
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["toolset", t.slug] });
      await on();
    },
  });
  const entered = fields[auth.authType] ?? [];
  const faults = save.isError ? asProblem(save.error).faults : [];
  const errorOf = (key: string) =>
    missing.includes(key) ? "Enter it." : faults.find((f) => f.location === `body.${key}` || f.pointer === `#/${key}`)?.detail;

  const submit = (e: FormEvent) => {
    e.preventDefault();
    const empty = entered.filter((f) => !f.optional && !auth[f.key]).map((f) => f.key);
    setMissing(empty);
    if (empty.length === 0) save.mutate();
  };
  const change = (part: Partial<Auth>) => {
    setAuth({ ...auth, ...part });
    setMissing([]);
  };
  const secret = String(auth[entered.find((f) => f.secret)?.key ?? "apiKey"] ?? "");
  return (
    <form onSubmit={submit} noValidate className="space-y-5">
      <Card title="What the specification asks for">
        {methods.length === 0 ? <p className="text-muted">Nothing: no operation names a security scheme. Enter a key only if the API wants one all the same.</p> : null}
        <ul className="space-y-1">
          {methods.map((m) => (
            <li key={m.id} className="break-words">
              <span className="font-medium">{m.id}</span>: {titles[m.suggestion?.authType ?? ""] ?? m.type}, for {plural(m.operations, "tool")}
              {m.unsupported ? `. ${m.unsupported}` : !typeOf(m) ? `. It needs a login: sluice toolset auth ${t.slug} login` : ""}
            </li>
          ))}
        </ul>
        {t.authentication ? (
          <p className="mt-3">
            Set: <code className="font-mono break-all">{t.authentication.preview}</code>
          </p>
        ) : null}
      </Card>
      <Card title={t.authentication ? "Replace the credential" : "Credential"}>
        <div className="grid max-w-xl gap-3">
          <Select label="Type" value={auth.authType} onChange={(e) => change({ authType: e.target.value as Auth["authType"] })}>
            {Object.keys(fields).map((type) => (
              <option key={type} value={type}>
                {titles[type]}
              </option>
            ))}
          </Select>
          {entered.map((f) => (
            <TextField
              key={f.key}
              label={f.label}
              type={f.secret ? "password" : "text"}
              autoComplete={f.secret ? "new-password" : "off"}
              spellCheck={false}
              hint={f.secret ? "Stored encrypted, and shown to nobody again." : f.hint}
              error={errorOf(f.key)}
              value={String(auth[f.key] ?? "")}
              onChange={(e) => change({ [f.key]: e.target.value })}
            />
          ))}
          {auth.authType === "header" && secret ? (
            <p className="break-words text-muted">
              Sent: <code className="font-mono">{`${auth.headerName ?? ""}: ${auth.headerPrefix ?? ""}••••${secret.length >= 12 ? secret.slice(-4) : ""}`}</code>
            </p>
          ) : null}
        </div>
      </Card>
      {save.isError ? <ProblemNote error={save.error} /> : null}
      <Next back="/toolsets/new/$slug/review" slug={t.slug}>
        <Button onClick={() => void on()}>{t.authentication ? "Keep it" : methods.length > 0 ? "Continue without" : "Skip"}</Button>
        <Button type="submit" kind="primary" busy={save.isPending}>
          Save and continue
        </Button>
      </Next>
      <CommandLine command={`sluice toolset auth ${t.slug} set`} />
    </form>
  );
}
