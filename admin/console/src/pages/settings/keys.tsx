import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { plural } from "../../lib/format";

const KEYS = ["keys"];

export const keysQuery = queryOptions({ queryKey: KEYS, queryFn: () => unwrap(api.GET("/v1/keys")) });

const uses = { credentials: "Seals credentials", release: "Signs releases and access documents", workspace: "Signs generated connectors" };

const columns: Column<Schemas["ControlKey"]>[] = [
  { name: "Key", cell: (k) => <code className="font-mono text-[0.86rem] break-all">{k.id}</code> },
  { name: "Use", cell: (k) => uses[k.use] },
  { name: "State", cell: (k) => (k.state === "current" ? <Badge tone="ok">In use</Badge> : <Badge tone="plain">Opens only</Badge>) },
];

/** The keys of the control plane: what each is for, none of their contents. */
export function Keys() {
  const queries = useQueryClient();
  const keys = useQuery(keysQuery);
  const [asked, setAsked] = useState<true | null>(null);
  const rotate = useMutation({ mutationFn: () => unwrap(api.POST("/v1/keys/rotate")), onSettled: () => queries.invalidateQueries({ queryKey: KEYS }) });
  if (keys.isError) return <ProblemNote error={keys.error} retry={() => void keys.refetch()} />;
  if (keys.isPending) return <Skeleton rows={2} />;
  return (
    <Card title="Keys" flush actions={<Button onClick={() => setAsked(true)}>Rotate the key of credentials</Button>}>
      <Table label="Keys" columns={columns} rows={keys.data.items} id={(k) => `${k.use} ${k.id}`} />
      <p role="status" className={rotate.data ? "border-t border-line px-4 py-2.5" : "sr-only"}>
        {rotate.data ? `${plural(rotate.data.rewrapped, "sealed value")} put under the new key.${rotate.data.opening?.length ? " The key before it still opens, until the next rotation." : ""}` : ""}
      </p>
      <p className="border-t border-line px-4 py-2 text-muted">
        The same in a terminal: <code className="font-mono text-text">sluice key rotate</code>
      </p>
      <Confirm title="Rotate the key of credentials" of={asked} action="Rotate it" command="sluice key rotate" run={() => rotate.mutateAsync()} stale={KEYS} close={() => setAsked(null)}>
        <p>
          A new key seals every credential, token and pending login from now on. Calls go on meanwhile, and nothing is decrypted. The key before it still opens until the next rotation, a minute later at the
          earliest: two rotations end a key for good.
        </p>
      </Confirm>
    </Card>
  );
}
