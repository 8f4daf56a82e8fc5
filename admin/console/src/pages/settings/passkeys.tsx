import { infiniteQueryOptions, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { More } from "../../components/more";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, unwrapTagged, type Schemas } from "../../lib/api";
import { ago, date } from "../../lib/format";
import { makePasskey, usable, useSignInWays } from "../../lib/passkey";
import { faultAt } from "../../lib/problem";
import type { Session } from "../../lib/session";

type Passkey = Schemas["Passkey"];

const PASSKEYS = ["passkeys"] as const;

const passkeysQuery = infiniteQueryOptions({
  queryKey: PASSKEYS,
  queryFn: ({ pageParam }) => unwrap(api.GET("/v1/passkeys", { params: { query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } } })),
  initialPageParam: "",
  getNextPageParam: (page) => page.nextCursor,
});

const columns: Column<Passkey>[] = [
  {
    name: "Name",
    cell: (p) => (
      <span className="inline-flex flex-wrap items-center gap-2">
        <span className="font-medium break-all">{p.name}</span>
        {p.doubtedAt ? <Badge tone="bad">May be copied</Badge> : null}
      </span>
    ),
  },
  { name: "For", wide: true, cell: (p) => <span className="break-all">{p.host}</span> },
  { name: "Kept", wide: true, cell: (p) => (p.synced ? "On several devices" : "On one device") },
  { name: "Made", wide: true, cell: (p) => <time dateTime={p.createdAt}>{date(p.createdAt)}</time> },
  { name: "Used", cell: (p) => (p.usedAt ? <time dateTime={p.usedAt} className="whitespace-nowrap">{ago(p.usedAt)}</time> : "Never") },
];

const actions = (rename: (p: Passkey) => void, remove: (p: Passkey) => void): Column<Passkey> => ({
  name: "Action",
  cell: (p) => (
    <span className="inline-flex flex-wrap gap-2">
      <Button onClick={() => rename(p)} aria-label={`Rename the passkey ${p.name}`}>
        Rename
      </Button>
      <Button kind="danger" onClick={() => remove(p)} aria-label={`Remove the passkey ${p.name}`}>
        Remove
      </Button>
    </span>
  ),
});

/** Why no passkey can be made or used at this address. */
function NotHere({ host }: { host: string | undefined }) {
  const there = host ?? "localhost";
  const local = location.hostname === "127.0.0.1" || location.hostname === "[::1]";
  if (!("PublicKeyCredential" in globalThis) && location.protocol === "https:") return <p className="p-4 text-muted">This browser has no passkeys.</p>;
  return (
    <p className="p-4 text-muted">
      Passkeys belong to a host name and work over https, or on this machine at localhost.{" "}
      {host || local ? (
        <>
          Open the console at{" "}
          <a className="text-accent underline" href={host ? `https://${there}/settings` : `${location.protocol}//localhost:${location.port}/settings`}>
            {there}
          </a>{" "}
          to make one.
        </>
      ) : (
        "Serve the console with TLS at a host name to use them."
      )}
    </p>
  );
}

/** The passkeys of the member who is signed in. */
export function Passkeys({ session }: { session: Session }) {
  const passkeys = useInfiniteQuery(passkeysQuery);
  const ways = useSignInWays();
  const [making, setMaking] = useState(false);
  const [renaming, setRenaming] = useState<Passkey | null>(null);
  const [removing, setRemoving] = useState<Passkey | null>(null);
  if (passkeys.isError) return <ProblemNote error={passkeys.error} retry={() => void passkeys.refetch()} />;
  if (passkeys.isPending) return <Skeleton rows={1} />;
  const items = passkeys.data.pages.flatMap((p) => p.items);
  const here = usable(ways?.passkeyHost);
  const can = here && session.password !== "none";
  return (
    <>
      <Card title="Passkeys" flush actions={can ? <Button onClick={() => setMaking(true)}>Make a passkey</Button> : null}>
        {items.length > 0 ? <Table label="Passkeys" columns={[...columns, actions(setRenaming, setRemoving)]} rows={items} id={(p) => p.id} /> : null}
        {items.some((p) => p.doubtedAt) ? (
          <p className="border-t border-line p-4">
            A login with a passkey that may be copied was refused: another device has used it. Remove it unless you know why, and make a new one.
          </p>
        ) : null}
        {items.length === 0 && here ? (
          <p className="p-4 text-muted">
            {session.password === "none"
              ? "A passkey is made by who has a password. Ask an administrator for a login link to set one."
              : "You have none. A passkey signs you in with the fingerprint, face or PIN of your device instead of a password."}
          </p>
        ) : null}
        {ways && !here ? <NotHere host={ways.passkeyHost} /> : null}
        <More list={passkeys} />
      </Card>
      <Make open={making} close={() => setMaking(false)} session={session} />
      <Rename key={renaming?.id ?? ""} passkey={renaming} close={() => setRenaming(null)} />
      <Confirm
        title={`Remove the passkey ${removing?.name ?? ""}`}
        of={removing}
        action="Remove"
        command={`sluice member passkey remove ${session.member?.email ?? "MEMBER"} ${removing?.id ?? "ID"}`}
        stale={PASSKEYS}
        close={() => setRemoving(null)}
        run={(p) => unwrap(api.DELETE("/v1/passkeys/{id}", { params: { path: { id: p.id } } }))}
      >
        <p>It signs nobody in any more, and your other sessions that passkeys opened end. Remove it on the device too.</p>
      </Confirm>
    </>
  );
}

function Make({ open, close, session }: { open: boolean; close: () => void; session: Session }) {
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: ({ name, current }: { name: string; current: string }) => makePasskey(name, current),
    onSuccess: () => close(),
    onSettled: () => queries.invalidateQueries({ queryKey: PASSKEYS }),
  });
  return (
    <FormDialog
      title="Make a passkey"
      open={open}
      close={close}
      does={make}
      action="Make it"
      submit={(text, form) => make.mutate({ name: text("name"), current: String(form.get("current") ?? "") })}
    >
      <p className="text-muted">The browser asks for the fingerprint, face or PIN of this device, of a phone or of a security key.</p>
      <TextField label="Name" name="name" required maxLength={100} autoComplete="off" hint="What you call the device" error={faultAt(make.error, "/name")} />
      {session.password === "set" ? (
        <TextField label="Your password" name="current" type="password" autoComplete="current-password" required />
      ) : null}
    </FormDialog>
  );
}

function Rename({ passkey, close }: { passkey: Passkey | null; close: () => void }) {
  const queries = useQueryClient();
  const rename = useMutation({
    mutationFn: async (name: string) => {
      const path = { id: passkey?.id ?? "" };
      const { etag } = await unwrapTagged(api.GET("/v1/passkeys/{id}", { params: { path } }));
      return unwrap(
        api.PATCH("/v1/passkeys/{id}", {
          params: { path, header: { "If-Match": etag } },
          body: { name },
          headers: { "Content-Type": "application/merge-patch+json" },
        }),
      );
    },
    onSuccess: () => close(),
    onSettled: () => queries.invalidateQueries({ queryKey: PASSKEYS }),
  });
  return (
    <FormDialog title={`Rename the passkey ${passkey?.name ?? ""}`} open={passkey !== null} close={close} does={rename} action="Rename" submit={(text) => rename.mutate(text("name"))}>
      <TextField label="Name" name="name" required maxLength={100} autoComplete="off" defaultValue={passkey?.name ?? ""} error={faultAt(rename.error, "/name")} />
    </FormDialog>
  );
}
