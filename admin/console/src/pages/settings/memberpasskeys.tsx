import { infiniteQueryOptions, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Button } from "../../components/button";
import { Dialog } from "../../components/dialog";
import { More } from "../../components/more";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { api, unwrap, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { ago, date } from "../../lib/format";

type Member = Schemas["Member"];

const passkeysQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ["passkeys", id],
    queryFn: ({ pageParam }) => unwrap(api.GET("/v1/members/{id}/passkeys", { params: { path: { id }, query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } } })),
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
    enabled: id !== "",
  });

/** The passkeys of a member, whom an administrator helps who lost a device. */
export function MemberPasskeys({ member, close }: { member: Member | null; close: () => void }) {
  return (
    <Dialog title={`Passkeys of ${member?.email ?? ""}`} open={member !== null} onClose={close}>
      {member ? <List member={member} close={close} /> : null}
    </Dialog>
  );
}

function List({ member, close }: { member: Member; close: () => void }) {
  const queries = useQueryClient();
  const passkeys = useInfiniteQuery(passkeysQuery(member.id));
  const remove = useMutation({
    mutationFn: (passkey: string) => unwrap(api.DELETE("/v1/members/{id}/passkeys/{passkey}", { params: { path: { id: member.id, passkey } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["passkeys", member.id] }),
  });
  const items = passkeys.data?.pages.flatMap((p) => p.items) ?? [];
  return (
    <div className="space-y-3">
      {passkeys.isError ? <ProblemNote error={passkeys.error} retry={() => void passkeys.refetch()} /> : null}
      {passkeys.isPending ? <Skeleton rows={1} /> : null}
      {passkeys.data && items.length === 0 ? <p className="text-muted">They have none.</p> : null}
      <ul className="divide-y divide-line">
        {items.map((p) => (
          <li key={p.id} className="flex flex-wrap items-center justify-between gap-3 py-2">
            <span className="min-w-0 break-words">
              {p.name} {p.doubtedAt ? <Badge tone="bad">May be copied</Badge> : null}
              <span className="block text-muted">
                Made {date(p.createdAt)}, {p.usedAt ? `used ${ago(p.usedAt)}` : "never used"}
              </span>
            </span>
            <Button kind="danger" busy={remove.isPending && remove.variables === p.id} onClick={() => remove.mutate(p.id)} aria-label={`Remove the passkey ${p.name}`}>
              Remove
            </Button>
          </li>
        ))}
      </ul>
      <More list={passkeys} />
      {remove.isError ? <ProblemNote error={remove.error} /> : null}
      <p className="text-muted">Removing one ends the sessions that their passkeys opened. Who has none left signs in with the password, or with a login link.</p>
      <p className="text-muted">
        The same in a terminal: <code className="font-mono break-words text-text">sluice member passkey list {shellWord(member.email)}</code>
      </p>
      <div className="flex justify-end">
        <Button onClick={close}>Close</Button>
      </div>
    </div>
  );
}
