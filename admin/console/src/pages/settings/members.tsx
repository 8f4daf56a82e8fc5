import { infiniteQueryOptions, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { CodeBlock } from "../../components/copy";
import { Dialog } from "../../components/dialog";
import { TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Roles } from "../../components/roles";
import { Skeleton } from "../../components/skeleton";
import { Table, type Column } from "../../components/table";
import { api, unwrap, unwrapTagged, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { date } from "../../lib/format";
import { MemberPasskeys } from "./memberpasskeys";

type Member = Schemas["Member"];

export const membersQuery = infiniteQueryOptions({
  queryKey: ["members"],
  queryFn: ({ pageParam }) => unwrap(api.GET("/v1/members", { params: { query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } } })),
  initialPageParam: "",
  getNextPageParam: (page) => page.nextCursor,
});

const linkFor = (id: string) => unwrap(api.POST("/v1/members/{id}/login-link", { params: { path: { id } } }));

/** Does something to a member as they are now. */
async function toMember(id: string, act: (params: { path: { id: string }; header: { "If-Match": string } }) => Promise<unknown>) {
  const path = { id };
  const { etag } = await unwrapTagged(api.GET("/v1/members/{id}", { params: { path } }));
  return act({ path, header: { "If-Match": etag } });
}

const columns = (change: (m: Member) => void, passkeys: (m: Member) => void, remove: (m: Member) => void): Column<Member>[] => [
  { name: "Name", cell: (m) => m.name ?? "" },
  { name: "E-mail", cell: (m) => m.email },
  { name: "Role", cell: (m) => m.role },
  { name: "Since", wide: true, cell: (m) => date(m.createdAt) },
  {
    name: "Action",
    cell: (m) => (
      <div className="flex flex-wrap gap-2">
        <LoginLink member={m} />
        <Button onClick={() => change(m)} aria-label={`Change the role of ${m.email}`}>
          Role
        </Button>
        <Button onClick={() => passkeys(m)} aria-label={`Show the passkeys of ${m.email}`}>
          Passkeys
        </Button>
        <Button onClick={() => remove(m)} aria-label={`Remove ${m.email}`}>
          Remove
        </Button>
      </div>
    ),
  },
];

export function Members() {
  const members = useInfiniteQuery(membersQuery);
  const [inviting, setInviting] = useState(false);
  const [changed, setChanged] = useState<Member | null>(null);
  const [holder, setHolder] = useState<Member | null>(null);
  const [removed, setRemoved] = useState<Member | null>(null);
  if (members.isError) return <ProblemNote error={members.error} retry={() => void members.refetch()} />;
  if (members.isPending) return <Skeleton rows={2} />;
  const items = members.data.pages.flatMap((p) => p.items);
  return (
    <Card title="Members" flush actions={<Button onClick={() => setInviting(true)}>Invite</Button>}>
      {items.length > 0 ? <Table label="Members" columns={columns(setChanged, setHolder, setRemoved)} rows={items} id={(m) => m.id} /> : <p className="p-4 text-muted">Nobody has an account yet.</p>}
      {members.hasNextPage ? (
        <div className="border-t border-line p-3">
          <Button busy={members.isFetchingNextPage} onClick={() => void members.fetchNextPage()}>
            Load more
          </Button>
        </div>
      ) : null}
      <Invite open={inviting} close={() => setInviting(false)} />
      {changed ? <Role member={changed} close={() => setChanged(null)} /> : null}
      <MemberPasskeys member={holder} close={() => setHolder(null)} />
      <Confirm
        title={`Remove ${removed?.email ?? ""}`}
        of={removed}
        action="Remove"
        command={`sluice member remove ${shellWord(removed?.email ?? "")}`}
        run={(m) => toMember(m.id, (params) => unwrap(api.DELETE("/v1/members/{id}", { params })))}
        stale={["members"]}
        close={() => setRemoved(null)}
      >
        <p>Their sessions end, and their API tokens are revoked. What they made stays. It cannot be undone.</p>
      </Confirm>
    </Card>
  );
}

/** A login link, to hand over by a way that only its member reads. */
function Link({ link }: { link: Schemas["LoginLink"] }) {
  return (
    <div className="space-y-2">
      <p>Send this link to nobody else. It works once, until {date(link.expiresAt)}; then a password can be set.</p>
      <CodeBlock label="the login link" text={link.url} />
    </div>
  );
}

function LoginLink({ member }: { member: Member }) {
  const make = useMutation({ mutationFn: () => linkFor(member.id) });
  return (
    <>
      <Button busy={make.isPending} onClick={() => make.mutate()} aria-label={`Make a login link for ${member.email}`}>
        Login link
      </Button>
      <Dialog title={`Login link for ${member.email}`} open={make.isSuccess || make.isError} onClose={make.reset}>
        {make.data ? <Link link={make.data} /> : null}
        {make.isError ? <ProblemNote error={make.error} /> : null}
        <div className="mt-4 flex justify-end">
          <Button onClick={make.reset}>Close</Button>
        </div>
      </Dialog>
    </>
  );
}

/** What a member may do from now on. */
function Role({ member, close }: { member: Member; close: () => void }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (role: Member["role"]) =>
      toMember(member.id, (params) => unwrap(api.PATCH("/v1/members/{id}", { params, body: { role }, headers: { "Content-Type": "application/merge-patch+json" } }))),
    onSuccess: close,
    onSettled: () => queries.invalidateQueries({ queryKey: ["members"] }),
  });
  return (
    <FormDialog title={`Role of ${member.email}`} open close={close} does={change} action="Save" command={`sluice member set-role ${shellWord(member.email)} ROLE`} submit={(text) => change.mutate(text("role") as Member["role"])}>
      <Roles now={member.role} />
      <p className="text-muted">It counts with their next request, for their API tokens too.</p>
    </FormDialog>
  );
}

function Invite({ open, close }: { open: boolean; close: () => void }) {
  const queries = useQueryClient();
  const invite = useMutation({
    mutationFn: async (body: { email: string; name: string; role: Member["role"] }) => linkFor((await unwrap(api.POST("/v1/members", { body }))).id),
    onSettled: () => queries.invalidateQueries({ queryKey: ["members"] }),
  });
  return (
    <FormDialog
      title="Invite a member"
      open={open}
      close={close}
      does={invite}
      action="Invite"
      submit={(text) => invite.mutate({ email: text("email"), name: text("name"), role: text("role") as Member["role"] })}
      made={invite.data ? <Link link={invite.data} /> : null}
    >
      <TextField label="E-mail" name="email" type="email" autoComplete="off" required />
      <TextField label="Name" name="name" autoComplete="off" maxLength={100} />
      <Roles />
    </FormDialog>
  );
}
