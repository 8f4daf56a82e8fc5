import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Button } from "../../components/button";
import { titleOf } from "../../components/credential";
import { External } from "../../components/external";
import { Fact } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Badge } from "../../components/status";
import { api, unwrap, type Schemas } from "../../lib/api";
import { date } from "../../lib/format";

type Item = Schemas["Authentication"] | Schemas["AuthenticationItem"];

const states = {
  ok: <Badge tone="ok">Works</Badge>,
  login_required: <Badge tone="warn">Login needed</Badge>,
  failing: <Badge tone="bad">Refused</Badge>,
  expired: <Badge tone="bad">Expired</Badge>,
};

/** A credential as it is set, without its secret, and the login that it may need. */
export function Configured({ slug, connector, item, editor }: { slug: string; connector: string; item: Item; editor: boolean }) {
  const login = item.grant === "authorization_code";
  return (
    <div>
      <h3 className="mb-1 flex flex-wrap items-center gap-2 font-medium">
        {titleOf(item) ?? item.authType}
        {item.state ? states[item.state] : null}
      </h3>
      <dl>
        {item.preview ? (
          <Fact name="Sent">
            <code className="font-mono break-all">{item.preview}</code>
          </Fact>
        ) : null}
        {item.scheme ? <Fact name="For the scheme">{item.scheme}</Fact> : null}
        {item.clientId ? <Fact name="Client ID">{item.clientId}</Fact> : null}
        {item.issuer ? <Fact name="Issuer">{item.issuer}</Fact> : null}
        {item.authorizationUrl ? <Fact name="Authorization URL">{item.authorizationUrl}</Fact> : null}
        {item.tokenUrl ? <Fact name="Token URL">{item.tokenUrl}</Fact> : null}
        {item.resource ? <Fact name="Resource">{item.resource}</Fact> : null}
        {item.scopes?.length ? <Fact name="Scopes">{item.scopes.join(" ")}</Fact> : null}
        {item.certificate ? (
          <Fact name="Certificate">
            {item.certificate.subject}, until {date(item.certificate.notAfter)}
          </Fact>
        ) : null}
        {item.origins?.length ? <Fact name="Sent to">{item.origins.join(", ")}</Fact> : null}
        {item.rotatedAt ? <Fact name="Set on">{date(item.rotatedAt)}</Fact> : null}
        {item.expiresAt ? <Fact name="Token valid until">{date(item.expiresAt)}</Fact> : null}
      </dl>
      {item.lastError ? <p className="mt-2 break-words text-bad">{item.lastError}</p> : null}
      {login && editor ? <Login slug={slug} connector={connector} item={item} /> : null}
    </div>
  );
}

/** The way to the login page of the authorization server. */
function Login({ slug, connector, item }: { slug: string; connector: string; item: Item }) {
  const queries = useQueryClient();
  const begin = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/v1/toolsets/{id}/connectors/{connector}/authentication/authorize", {
          params: { path: { id: slug, connector } },
          body: item.credentialId ? { credentialId: item.credentialId } : {},
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  const over = begin.data !== undefined && !item.loginPending && item.state === "ok";
  return (
    <div className="mt-2 space-y-2">
      <Button kind={item.state === "ok" ? "plain" : "primary"} busy={begin.isPending} onClick={() => begin.mutate()}>
        {item.state === "ok" ? "Log in again" : "Log in"}
      </Button>
      {begin.isError ? <ProblemNote error={begin.error} /> : null}
      {begin.data && !over ? (
        <div className="space-y-1">
          <p>
            <External href={begin.data.authorizationUrl}>Open the login page</External> in this browser, until {date(begin.data.expiresAt)}.
          </p>
          <p className="break-words text-muted">
            {begin.data.registered ? "The client was registered for this. " : ""}It leads back to <code className="font-mono break-all">{begin.data.redirectUrl}</code>
            {begin.data.registered ? "." : ", which the client at the authorization server must allow."}
          </p>
        </div>
      ) : null}
      <p role="status" className={item.loginPending || over ? "text-muted" : "sr-only"}>
        {item.loginPending ? "A login was begun and is not finished." : over ? "Logged in." : ""}
      </p>
    </div>
  );
}
