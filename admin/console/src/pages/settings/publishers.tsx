import { infiniteQueryOptions, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Button } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { fileClass, TextArea, TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { More } from "../../components/more";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { date, plural } from "../../lib/format";
import { useCan } from "../../lib/session";

type Key = Schemas["PublisherKey"];

const KEYS = ["plugins", "publisher-keys"];

const keysQuery = infiniteQueryOptions({
  queryKey: KEYS,
  queryFn: ({ pageParam }) => unwrap(api.GET("/v1/publisher-keys", { params: { query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } } })),
  initialPageParam: "",
  getNextPageParam: (page) => page.nextCursor,
});

const columns: Column<Key>[] = [
  { name: "Name", cell: (k) => <span className="break-words">{k.name}</span> },
  { name: "Key", cell: (k) => <code className="font-mono text-[0.9rem]" title={k.id}>{k.id.slice(0, 16)}</code> },
  { name: "Algorithm", wide: true, cell: (k) => k.algorithm },
  {
    name: "State",
    cell: (k) =>
      k.status === "valid" ? (
        <Badge tone="ok">Trusted</Badge>
      ) : (
        <>
          <Badge tone="plain">Revoked</Badge>
          {k.reason ? <span className="block break-words text-muted">{k.reason}</span> : null}
        </>
      ),
  },
  { name: "Added", wide: true, cell: (k) => <span className="whitespace-nowrap">{date(k.createdAt)}</span> },
];

const action = (revoke: (k: Key) => void): Column<Key> => ({
  name: "Action",
  cell: (k) =>
    k.status === "valid" ? (
      <Button onClick={() => revoke(k)} aria-label={`Revoke the key of ${k.name}`}>
        Revoke
      </Button>
    ) : null,
});

/** Whose plugins are accepted: only what one of these keys signed is published. */
export function Publishers() {
  const keys = useInfiniteQuery(keysQuery);
  const admin = useCan("admin");
  const [adding, setAdding] = useState(false);
  const [chosen, setChosen] = useState<Key | null>(null);
  const items = keys.data?.pages.flatMap((p) => p.items) ?? [];
  return (
    <>
      {keys.isError ? <ProblemNote error={keys.error} retry={() => void keys.refetch()} /> : null}
      {keys.isPending ? <Skeleton rows={2} /> : null}
      {keys.data ? (
        <Card title="Publishers of plugins" flush actions={admin ? <Button onClick={() => setAdding(true)}>Trust a publisher</Button> : undefined}>
          <p className="border-b border-line px-4 py-2.5 text-muted">
            A plugin is published where one of these keys signed it.{" "}
            {admin ? (
              <>
                <code className="font-mono text-text">sluice plugin sign</code> makes a key, and writes the public one beside it.
              </>
            ) : (
              "Trusting and revoking them needs the role admin."
            )}
          </p>
          {items.length > 0 ? <Table label="Publishers of plugins" columns={admin ? [...columns, action(setChosen)] : columns} rows={items} id={(k) => k.id} /> : <p className="p-4 text-muted">No publisher is trusted, so nothing can be published.</p>}
          <More list={keys} />
        </Card>
      ) : null}
      <Trust open={adding} close={() => setAdding(false)} />
      {chosen ? <Revoke of={chosen} close={() => setChosen(null)} /> : null}
      <CommandLine command="sluice plugin key list" />
    </>
  );
}

function Trust({ open, close }: { open: boolean; close: () => void }) {
  const queries = useQueryClient();
  const id = useId();
  const [pem, setPEM] = useState("");
  const add = useMutation({
    mutationFn: (name: string) => unwrap(api.POST("/v1/publisher-keys", { body: { name, publicKey: pem } })),
    onSuccess: () => {
      setPEM("");
      close();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: KEYS }),
  });
  return (
    <FormDialog title="Trust a publisher" open={open} close={close} does={add} action="Trust it" command="sluice plugin key add publisher.key.pub --name NAME" submit={(text) => add.mutate(text("name"))}>
      <TextField label="Name" name="name" required maxLength={100} autoComplete="off" hint="Whose key it is" />
      <div>
        <label htmlFor={id} className="mb-1 block font-medium">
          File of the public key
        </label>
        <input id={id} type="file" accept=".pub,.pem" className={fileClass} onChange={(e) => void e.target.files?.[0]?.text().then(setPEM)} />
      </div>
      <TextArea label="Public key" required spellCheck={false} placeholder="-----BEGIN PUBLIC KEY-----" hint="PEM: ed25519, or ECDSA on P-256 as cosign makes. Never the private one." value={pem} onChange={(e) => setPEM(e.target.value)} />
    </FormDialog>
  );
}

function Revoke({ of: key, close }: { of: Key; close: () => void }) {
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: (reason: string) => unwrap(api.POST("/v1/publisher-keys/{id}/revoke", { params: { path: { id: key.id } }, body: { reason } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["plugins"] }),
  });
  const done = revoke.data;
  return (
    <FormDialog
      title={`Revoke the key of ${key.name}`}
      open
      close={close}
      does={revoke}
      action="Revoke"
      danger
      command={`sluice plugin key revoke ${key.id.slice(0, 16)} --reason TEXT`}
      submit={(text) => revoke.mutate(text("reason"))}
      made={
        done ? (
          <p>
            {plural(done.yanked, "version")} yanked.{" "}
            {done.toolsets.length > 0 ? `What is live of ${done.toolsets.join(", ")} stays until it is changed: bind another version, or unbind it.` : "No toolset binds one of them."}
          </p>
        ) : null
      }
    >
      <p>Every version that it signed is yanked, and toolsets that bind one cannot be deployed again with it. It cannot be undone.</p>
      <TextField label="Why" name="reason" required maxLength={500} autoComplete="off" />
    </FormDialog>
  );
}
