import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Button } from "../../components/button";
import { ProblemNote } from "../../components/problem";
import { api, unwrap } from "../../lib/api";
import { useCan } from "../../lib/session";

/** Addresses that the draft would send a credential to and that nobody allowed: nothing is sent there before an administrator confirms them. */
export function Origins({ slug, connector }: { slug: string; connector: string }) {
  const queries = useQueryClient();
  const admin = useCan("admin");
  const origins = useQuery({
    queryKey: ["toolset", slug, "origins"],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/origins", { params: { path: { id: slug } } })),
  });
  const confirm = useMutation({
    mutationFn: (added: string[]) => unwrap(api.POST("/v1/toolsets/{id}/origins", { params: { path: { id: slug } }, body: { connector, origins: added, reason: "confirmed in the console" } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  if (origins.isError) return <ProblemNote error={origins.error} retry={() => void origins.refetch()} />;
  const added = origins.data?.items.find((o) => o.connector === connector)?.new ?? [];
  if (added.length === 0) return null;
  return (
    <div className="rounded-lg border border-line bg-warn-soft p-3 text-warn">
      <p className="break-words">
        The credential would be sent to <code className="font-mono">{added.join(", ")}</code>, too. That waits until an administrator confirms it, or until the secret is entered again.
      </p>
      {admin ? (
        <div className="mt-2">
          <Button busy={confirm.isPending} onClick={() => confirm.mutate(added)}>
            Confirm
          </Button>
        </div>
      ) : null}
      {confirm.isError ? <ProblemNote error={confirm.error} /> : null}
    </div>
  );
}
