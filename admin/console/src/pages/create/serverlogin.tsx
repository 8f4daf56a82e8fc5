import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { Button, buttonClass } from "../../components/button";
import { Choices } from "../../components/choices";
import { CommandLine } from "../../components/copy";
import { bodyOf, CredentialFields, kindOf, missingOf, type Auth } from "../../components/credential";
import { External } from "../../components/external";
import { Card, Fact, Page } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, unwrap, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { date } from "../../lib/format";
import { Problem } from "../../lib/problem";
import { useConnectionTest } from "./connection";
import { ConnectionSteps } from "./connectionsteps";
import { createDraft, loginQuery, readServer, type Access } from "./serverdraft";
import { ServerSteps } from "./steps";
import { ofEditors } from "./editors";

type Way = "automatic" | "client" | "manual";

const ways = [
  { value: "automatic", name: "Log in, automatically", note: "Where to log in is found out, and a client is registered there (OAuth 2.1 with dynamic client registration)" },
  { value: "client", name: "Log in with a client of your own", note: "The server registers none: enter the client ID, its secret and the addresses" },
  { value: "manual", name: "A key or token", note: "Sent with each call, in a header or another place" },
] as const;

const EVERY = 1500;

/** The second step from an MCP server: the authentication that it wants. */
export const ServerLogin = ofEditors(ServerLoginStep);

function ServerLoginStep() {
  const { login: kept } = useSearch({ from: "/toolsets/new/mcp-authentication" });
  const entered = readServer().url.trim();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [way, setWay] = useState<Way>("automatic");
  const [client, setClient] = useState<Auth>({ authType: "oauth2", grant: "authorization_code" });
  const [key, setKey] = useState<Auth>({ authType: "header", headerName: "Authorization", headerPrefix: "Bearer " });
  const [missing, setMissing] = useState<(keyof Auth)[]>([]);
  const [phase, setPhase] = useState("");
  const test = useConnectionTest();
  const login = useQuery({ ...loginQuery(kept ?? ""), refetchInterval: (q) => (q.state.data?.state === "pending" ? EVERY : false) });
  const url = login.data?.url ?? entered;

  const begin = useMutation({
    mutationFn: () => unwrap(api.POST("/v1/mcp/logins", { body: { url, ...(way === "client" ? { authentication: bodyOf(client) } : {}) } })),
    onSuccess: (made) => navigate({ to: "/toolsets/new/mcp-authentication", search: { login: made.id }, replace: true }),
  });
  const create = useMutation({
    mutationFn: async (access: Access) => {
      if (!(await test.run(url, access))) return "";
      return createDraft(url, access, setPhase);
    },
    onSuccess: async (slug) => {
      if (!slug) return;
      void queries.invalidateQueries({ queryKey: ["toolsets"] });
      await navigate({ to: "/toolsets/new/$slug/review", params: { slug } });
    },
  });
  const change = (next: Way) => {
    setWay(next);
    setMissing([]);
    begin.reset();
    create.reset();
    test.reset();
  };
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const auth = way === "client" ? client : key;
    const empty = way === "automatic" ? [] : way === "client" && !auth.clientId ? ["clientId" as const] : missingOf(auth);
    setMissing(empty);
    if (empty.length > 0) return;
    if (way === "manual") create.mutate({ authentication: bodyOf(key) });
    else begin.mutate();
  };
  const fields = (auth: Auth, set: (auth: Auth) => void, error: unknown) => ({
    auth,
    missing,
    error,
    onChange: (next: Auth) => {
      set(next);
      setMissing([]);
    },
  });
  if (!url && !login.isLoading) {
    return (
      <Page title="Create a toolset">
        <ServerSteps slug="" />
        <p className="mb-4">No server was entered yet.</p>
        <Link to="/toolsets/new/mcp" className={buttonClass("primary")}>
          Enter its URL
        </Link>
      </Page>
    );
  }
  return (
    <Page title="Create a toolset" lead={<span className="break-all">Authentication at {url}</span>}>
      <ServerSteps slug="" />
      <form onSubmit={submit} noValidate className="space-y-5">
        <Card title="How calls are authenticated">
          <div className="space-y-4">
            <Choices label="Authentication" value={way} onValue={change} choices={ways} />
            {way === "client" ? <CredentialFields offered={["login"]} {...fields(client, setClient, begin.error)} /> : null}
            {way === "manual" ? <CredentialFields offered={["header", "bearer", "basic", "query", "cookie"]} {...fields(key, setKey, undefined)} /> : null}
          </div>
        </Card>
        {begin.isError ? <ProblemNote error={begin.error} /> : null}
        {way !== "manual" && (begin.data || login.data) ? (
          <LoginCard begun={begin.data?.id === login.data?.id ? begin.data : undefined} login={login.data} busy={create.isPending} on={(id) => create.mutate({ login: id })} />
        ) : null}
        {login.isError && kept ? <Expired error={login.error} /> : null}
        {test.steps.length > 0 ? <ConnectionSteps steps={test.steps} /> : null}
        {test.error === undefined ? null : <ProblemNote error={test.error} />}
        {create.isError ? <ProblemNote error={create.error} /> : null}
        <div className="flex flex-wrap items-center justify-between gap-3">
          <Link to="/toolsets/new/mcp" className={buttonClass()}>
            Back
          </Link>
          <div className="flex flex-wrap items-center gap-3">
            <p role="status" className="text-muted">
              {create.isPending ? phase || "Connecting with it" : ""}
            </p>
            <Button type="submit" kind={login.data?.state === "done" && way !== "manual" ? "plain" : "primary"} busy={begin.isPending || (way === "manual" && create.isPending)}>
              {way === "manual" ? "Test and continue" : login.data ? "Begin the login again" : "Begin the login"}
            </Button>
          </div>
        </div>
      </form>
      <CommandLine command={`sluice add ${shellWord(url)} --auth ${way === "manual" ? (kindOf(key) === "header" ? `header:${key.headerName ?? "Authorization"}` : key.authType) : way === "client" ? "oauth:CLIENT_ID" : "oauth"} --no-deploy`} />
    </Page>
  );
}

type Login = Schemas["ServerLoginState"];

/** A login that was begun, from the page to open to the draft that is made with it. */
function LoginCard({ begun, login, busy, on }: { begun: Login | undefined; login: Login | undefined; busy: boolean; on: (id: string) => void }) {
  const state = login?.state ?? "pending";
  return (
    <Card title="The login">
      <ol className="list-decimal space-y-2 pl-5">
        <li>
          {begun?.registered ? "A client was registered for this." : "The client is known."}{" "}
          {begun?.redirectUrl ? (
            <span className="text-muted">
              It leads back to <code className="font-mono break-all">{begun.redirectUrl}</code>
              {begun.registered ? "." : ", which the client at the authorization server must allow."}
            </span>
          ) : null}
        </li>
        <li>
          {begun?.authorizationUrl && state === "pending" ? (
            <>
              <External href={begun.authorizationUrl}>Open the login page</External> in this browser, until {date(begun.expiresAt)}.
            </>
          ) : state === "pending" ? (
            "The login page was opened before. Begin the login again if it is lost."
          ) : (
            "The login page was opened."
          )}
        </li>
        <li>
          <span role="status">{state === "done" ? "You are logged in." : state === "failed" ? "The login did not succeed." : "Waiting for the login: this page goes on by itself."}</span>
        </li>
      </ol>
      {login?.error ? <p className="mt-2 break-words text-bad">{login.error}</p> : null}
      {state === "done" && login ? (
        <div className="mt-4">
          <dl className="mb-3">
            <Fact name="Login">{login.id}</Fact>
          </dl>
          <Button kind="primary" busy={busy} onClick={() => on(login.id)}>
            Continue
          </Button>
        </div>
      ) : null}
    </Card>
  );
}

function Expired({ error }: { error: unknown }) {
  if (error instanceof Problem && error.status === 404) return <p className="text-muted">The login that was begun here was used or has expired. Begin it again.</p>;
  return <ProblemNote error={error} />;
}
