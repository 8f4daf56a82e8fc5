import { useQuery } from "@tanstack/react-query";
import { Card, Fact } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { api, unwrap } from "../../lib/api";

/** How members sign in at an OpenID provider, as the node was started. */
export function OpenIDConnect() {
  const config = useQuery({ queryKey: ["openid-connect"], queryFn: () => unwrap(api.GET("/v1/openid-connect")) });
  if (config.isError) return <ProblemNote error={config.error} retry={() => void config.refetch()} />;
  if (config.isPending) return <Skeleton rows={2} />;
  const c = config.data;
  const roles = Object.entries(c.roles ?? {});
  return (
    <Card title="Sign in with OpenID Connect">
      {c.enabled ? (
        <dl>
          <Fact name="Provider">{c.name}</Fact>
          <Fact name="Issuer">
            <code className="font-mono break-all">{c.issuer}</code>
          </Fact>
          <Fact name="Client">
            {c.clientId}, {c.clientSecretSet ? "with a secret" : "without a secret"}
          </Fact>
          <Fact name="Scopes">{c.scopes?.join(" ")}</Fact>
          <Fact name="Roles">{roles.length === 0 ? "those of the members; nobody becomes a member by signing in" : `by the claim ${c.groupsClaim}: ${roles.map(([group, role]) => `${group} = ${role}`).join(", ")}`}</Fact>
        </dl>
      ) : (
        <p>
          Off. Start the node with <code className="font-mono">--oidc-issuer</code> and <code className="font-mono">--oidc-client-id</code> to let members sign in at your identity provider.
        </p>
      )}
      <p className="mt-3 text-muted">
        The client at the provider must allow <code className="font-mono break-all">{c.redirectUrl}</code>.
      </p>
    </Card>
  );
}
