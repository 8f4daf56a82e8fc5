import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Choices } from "../../components/choices";
import { CommandLine } from "../../components/copy";
import { TextArea, TextField } from "../../components/field";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { SaveForm, type Save } from "../../components/saveform";
import { Skeleton } from "../../components/skeleton";
import { api, unwrap, unwrapTagged, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { useEdits } from "../../lib/edits";
import { wholeNumber } from "../../lib/number";
import { AccessTokens } from "./accesstokens";
import { PrivateAddresses } from "./grants";

/** What the form is about; numbers and lists as they are written. */
interface Fields {
  mode: Schemas["AccessSettings"]["mode"];
  issuer: string;
  servers: string;
  jwksUrl: string;
  scopes: string;
  rate: string;
  burst: string;
  concurrent: string;
  requestBytes: string;
}

const names: Record<keyof Fields, string> = {
  mode: "Who may call the tools",
  issuer: "Issuer",
  servers: "Authorization servers",
  jwksUrl: "Address of its keys",
  scopes: "Scopes",
  rate: "Requests per minute",
  burst: "Requests in a burst",
  concurrent: "Requests in progress",
  requestBytes: "Bytes of a request",
};

const written = (n: number | undefined) => (n ? String(n) : "");

const fieldsOf = (a: Schemas["ToolsetAccess"]): Fields => ({
  mode: a.mode,
  issuer: a.jwt?.issuer ?? "",
  servers: (a.jwt?.authorizationServers ?? []).join(", "),
  jwksUrl: a.jwt?.jwksUrl ?? "",
  scopes: (a.jwt?.scopes ?? []).map((s) => `${s.scope} = ${s.tools.join(", ")}`).join("\n"),
  rate: written(a.limits?.requestsPerMinute),
  burst: written(a.limits?.burst),
  concurrent: written(a.limits?.concurrent),
  requestBytes: written(a.limits?.maxRequestBytes),
});

const words = (text: string) => text.split(/[\s,]+/).filter((word) => word !== "");

/** The scopes of lines such as "read = list_*, get_*"; undefined: a line is none. */
function scopesOf(text: string): Schemas["AccessScope"][] | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const scopes = lines.map((line) => {
    const at = line.indexOf("=");
    return { scope: line.slice(0, at).trim(), tools: words(line.slice(at + 1)), whole: at > 0 };
  });
  if (scopes.some((s) => !s.whole || s.scope === "" || s.tools.length === 0)) return undefined;
  return scopes.map(({ scope, tools }) => ({ scope, tools }));
}

const limitsOf = (f: Fields): Schemas["Limits"] => ({
  ...(f.rate ? { requestsPerMinute: Number(f.rate) } : {}),
  ...(f.burst ? { burst: Number(f.burst) } : {}),
  ...(f.concurrent ? { concurrent: Number(f.concurrent) } : {}),
  ...(f.requestBytes ? { maxRequestBytes: Number(f.requestBytes) } : {}),
});

/** The settings of a form. Limits of one subject, which it does not have, stay as they are. */
function settingsOf(f: Fields, before: Schemas["ToolsetAccess"]): Schemas["AccessSettings"] {
  const limits = limitsOf(f);
  const scopes = scopesOf(f.scopes) ?? [];
  const servers = words(f.servers);
  return {
    mode: f.mode,
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
    ...(f.mode === "jwt"
      ? {
          jwt: {
            issuer: f.issuer,
            ...(f.jwksUrl ? { jwksUrl: f.jwksUrl } : {}),
            ...(servers.length > 0 ? { authorizationServers: servers } : {}),
            ...(scopes.length > 0 ? { scopes } : {}),
            ...(before.jwt?.limits ? { limits: before.jwt.limits } : {}),
          },
        }
      : {}),
  };
}

function commandOf(slug: string, f: Fields, dirty: boolean): string {
  if (!dirty) return `sluice toolset access ${slug}`;
  const flags = [
    f.mode === "jwt" ? `--issuer ${shellWord(f.issuer || "URL")}` : "",
    f.mode === "jwt" && f.jwksUrl ? `--jwks-url ${shellWord(f.jwksUrl)}` : "",
    f.mode === "jwt" && f.servers ? `--authorization-server ${shellWord(words(f.servers).join(","))}` : "",
    ...(f.mode === "jwt" ? (scopesOf(f.scopes) ?? []).map((s) => `--scope ${shellWord(`${s.scope}=${s.tools.join(",")}`)}`) : []),
    f.rate ? `--rate ${f.rate}` : "",
    f.burst ? `--burst ${f.burst}` : "",
    f.concurrent ? `--concurrent ${f.concurrent}` : "",
  ];
  return [`sluice toolset access ${slug} set ${f.mode}`, ...flags.filter((flag) => flag !== "")].join(" ");
}

const accessQuery = (slug: string) =>
  queryOptions({
    queryKey: ["toolset", slug, "access"],
    queryFn: () => unwrapTagged(api.GET("/v1/toolsets/{id}/access", { params: { path: { id: slug } } })),
  });

export function Access() {
  const { slug } = useParams({ from: "/toolsets/$slug" });
  const access = useQuery(accessQuery(slug));
  if (access.isError) return <ProblemNote error={access.error} retry={() => void access.refetch()} />;
  if (access.isPending) return <Skeleton />;
  return <Settings key={slug} slug={slug} access={access.data.data} etag={access.data.etag} />;
}

function Settings({ slug, access, etag }: { slug: string; access: Schemas["ToolsetAccess"]; etag: string }) {
  const queries = useQueryClient();
  const stored = fieldsOf(access);
  const edits = useEdits(stored, etag);
  const { values, enter, dirty } = edits;
  const save = useMutation({
    mutationFn: ({ match, all }: Save<Fields>) =>
      unwrap(api.PUT("/v1/toolsets/{id}/access", { params: { path: { id: slug }, header: { "If-Match": match } }, body: settingsOf(all, access) })),
    onSettled: async (_, error, { part }) => {
      await queries.invalidateQueries({ queryKey: ["toolset", slug] });
      if (!error) edits.saved(part);
    },
  });
  const jwt = values.mode === "jwt";
  const most = 1_000_000_000;
  const bad = {
    issuer: jwt && !values.issuer ? "Enter the issuer of the tokens, as their claim iss has it." : undefined,
    scopes: jwt && !scopesOf(values.scopes) ? "Write one scope a line: its name, =, and the tools that it opens." : undefined,
    rate: wholeNumber(values.rate, 0, most),
    burst: wholeNumber(values.burst, 0, most),
    concurrent: wholeNumber(values.concurrent, 0, most),
    requestBytes: wholeNumber(values.requestBytes, 0, most),
  };
  const field = (name: Exclude<keyof Fields, "mode">) => ({ label: names[name], value: values[name], onChange: (e: { target: { value: string } }) => enter({ [name]: e.target.value }) });
  const limit = (name: "rate" | "burst" | "concurrent" | "requestBytes", hint?: string) => (
    <TextField {...field(name)} inputMode="numeric" placeholder="none" hint={hint} error={bad[name]} onChange={(e) => enter({ [name]: e.target.value.trim() })} />
  );
  return (
    <div className="space-y-5">
      <SaveForm
        label="Access"
        legend="Who may call the tools"
        stored={stored}
        edits={edits}
        names={names}
        bad={bad}
        save={save}
        before="A change is in force at once, without a test."
        after="Saved, and in force."
      >
        <Card title="The toolset URL">
          <p className="mb-3 text-muted">
            <code className="font-mono break-all text-text">{access.url}</code>
          </p>
          <div className="grid gap-x-8 gap-y-4 lg:grid-cols-2">
            <div>
              <Choices
                label={names.mode}
                value={values.mode}
                onValue={(mode) => enter({ mode })}
                choices={[
                  { value: "none", name: "Everybody who reaches the node", note: "No token is asked for." },
                  { value: "token", name: "Holders of an access token", note: "Applications send a token of the list below." },
                  { value: "jwt", name: "Who logs in at an authorization server", note: "Applications send its JSON Web Tokens; most log in there by themselves." },
                ]}
              />
              {values.mode === "token" && access.tokens === 0 ? <p className="mt-2 text-warn">There is no valid access token: nobody gets in until you make one below.</p> : null}
            </div>
            {jwt ? (
              <div className="space-y-4">
                <TextField {...field("issuer")} type="url" placeholder="https://id.example.com" error={bad.issuer} />
                <TextField {...field("jwksUrl")} type="url" hint="Left empty, the metadata of the issuer says it." />
                <TextField {...field("servers")} hint="Where applications are sent to log in. Left empty: the issuer." />
                <TextArea
                  {...field("scopes")}
                  spellCheck={false}
                  placeholder={"read = list_*, get_*\nwrite = *"}
                  hint="One a line, with the tools that it opens. Left empty, every valid token opens all tools."
                  error={bad.scopes}
                />
                {access.metadataUrl ? (
                  <p className="text-muted">
                    Metadata for applications: <code className="font-mono break-all">{access.metadataUrl}</code>
                  </p>
                ) : null}
              </div>
            ) : null}
          </div>
        </Card>
        <Card title="Limits of all callers together">
          <div className="grid gap-4 sm:grid-cols-2 lg:grid-cols-4">
            {limit("rate")}
            {limit("burst", "Left empty: a tenth of those of a minute.")}
            {limit("concurrent")}
            {limit("requestBytes")}
          </div>
        </Card>
      </SaveForm>
      <AccessTokens slug={slug} mode={access.mode} />
      <PrivateAddresses slug={slug} />
      <CommandLine command={commandOf(slug, values, dirty)} />
    </div>
  );
}
