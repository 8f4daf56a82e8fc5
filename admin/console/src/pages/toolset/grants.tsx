import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { Dialog } from "../../components/dialog";
import { TextField } from "../../components/field";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { date } from "../../lib/format";
import { can } from "../../lib/roles";
import { sessionQuery } from "../../lib/session";

type Grant = Schemas["Grant"];

const columns: Column<Grant>[] = [
  { name: "Address", cell: (g) => <code className="font-mono">{g.address}</code> },
  { name: "Name", cell: (g) => g.host ?? "" },
  { name: "Why", wide: true, cell: (g) => <span className="break-words">{g.reason ?? ""}</span> },
  { name: "Since", cell: (g) => <span className="whitespace-nowrap">{date(g.createdAt)}</span> },
];

const ofToolset: Column<Grant> = {
  name: "Toolset",
  cell: (g) =>
    g.toolsetSlug ? (
      <Link to="/toolsets/$slug/access" params={{ slug: g.toolsetSlug }} className="text-accent hover:underline">
        {g.toolsetSlug}
      </Link>
    ) : (
      <code className="font-mono break-all">{g.toolset}</code>
    ),
};

const action = (revoke: (g: Grant) => void): Column<Grant> => ({
  name: "Action",
  cell: (g) => (
    <Button onClick={() => revoke(g)} aria-label={`Revoke ${g.address}`}>
      Revoke
    </Button>
  ),
});

/** The machines of the node's own network that a toolset, or any, may call. */
export function PrivateAddresses({ slug }: { slug?: string }) {
  const grants = useQuery({
    queryKey: ["grants", slug ?? ""],
    queryFn: () => unwrap(api.GET("/v1/grants", { params: { query: slug ? { toolset: slug } : {} } })),
  });
  const session = useQuery(sessionQuery);
  const [adding, setAdding] = useState(false);
  const [chosen, setChosen] = useState<Grant | null>(null);
  if (grants.isError) return <ProblemNote error={grants.error} retry={() => void grants.refetch()} />;
  if (grants.isPending) return <Skeleton rows={1} />;
  const operator = Boolean(session.data?.workspace.operator) && can(session.data?.role, "admin");
  const { items } = grants.data;
  const shown = [...(slug === undefined ? [ofToolset] : []), ...columns, ...(operator ? [action(setChosen)] : [])];
  return (
    <Card
      title={slug === undefined ? "Private addresses that toolsets may call" : "Private addresses that it may call"}
      flush
      actions={operator ? <Button onClick={() => setAdding(true)}>Allow an address</Button> : undefined}
    >
      {items.length > 0 ? (
        <Table label="Private addresses" columns={shown} rows={items} id={(g) => g.id} />
      ) : (
        <p className="p-4 text-muted">None: APIs in the network of the node are not called before its operator allows it.</p>
      )}
      {operator ? null : <p className="border-t border-line p-4 text-muted">An operator of the node allows and revokes them.</p>}
      <Allow slug={slug} open={adding} close={() => setAdding(false)} />
      <Confirm
        title={`Revoke ${chosen?.address ?? ""}`}
        of={chosen}
        action="Revoke"
        command={`sluice grant revoke ${chosen?.id}`}
        run={(g) => unwrap(api.DELETE("/v1/grants/{id}", { params: { path: { id: g.id } } }))}
        stale={["grants"]}
        close={() => setChosen(null)}
      >
        <p>Calls to it are refused at once, and open connections are closed.</p>
      </Confirm>
    </Card>
  );
}

function Allow({ slug, open, close }: { slug: string | undefined; open: boolean; close: () => void }) {
  const queries = useQueryClient();
  const [none, setNone] = useState(false);
  const allow = useMutation({
    mutationFn: (body: Schemas["CreateGrant"]) => unwrap(api.POST("/v1/grants", { body })),
    onSuccess: ({ items }) => (items.length > 0 ? close() : setNone(true)),
    onSettled: () => queries.invalidateQueries({ queryKey: ["grants"] }),
  });
  const shut = () => {
    allow.reset();
    setNone(false);
    close();
  };
  const submit = (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget);
    const read = (name: string) => String(form.get(name) ?? "").trim();
    setNone(false);
    allow.mutate({ toolset: slug ?? read("toolset"), address: read("address"), ...(read("reason") ? { reason: read("reason") } : {}) });
  };
  return (
    <Dialog title="Allow a private address" open={open} onClose={shut}>
      <form onSubmit={submit} className="space-y-4">
        {slug === undefined ? <TextField label="Toolset" name="toolset" autoComplete="off" spellCheck={false} required maxLength={64} hint="The last part of its URL" /> : null}
        <TextField label="Address" name="address" autoComplete="off" spellCheck={false} required placeholder="http://10.0.0.7:8080" hint="A URL, or host and port. What the name has now is allowed, on this node." />
        <TextField label="Why" name="reason" maxLength={1000} hint="For the list and the audit log; may be empty" />
        {none ? <p role="status">That address is a public one: it needs no permission.</p> : null}
        {allow.isError ? <ProblemNote error={allow.error} /> : null}
        <p className="text-muted">
          The same in a terminal: <code className="font-mono text-text">sluice grant create {slug ?? "TOOLSET"} ADDRESS</code>
        </p>
        <div className="flex justify-end gap-2">
          <Button onClick={shut}>Cancel</Button>
          <Button kind="primary" type="submit" busy={allow.isPending}>
            Allow it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
