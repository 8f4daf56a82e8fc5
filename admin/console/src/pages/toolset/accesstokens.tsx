import { infiniteQueryOptions, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { CodeBlock } from "../../components/copy";
import { Dialog } from "../../components/dialog";
import { Select, TextField } from "../../components/field";
import { More } from "../../components/more";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { count, date } from "../../lib/format";
import { useCan } from "../../lib/session";

type Token = Schemas["AccessToken"];

const tokensQuery = (slug: string) =>
  infiniteQueryOptions({
    queryKey: ["toolset", slug, "access-tokens"],
    queryFn: ({ pageParam }) =>
      unwrap(api.GET("/v1/toolsets/{id}/access-tokens", { params: { path: { id: slug }, query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } } })),
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
  });

const states = { valid: <Badge tone="ok">Valid</Badge>, expired: <Badge tone="plain">Expired</Badge>, revoked: <Badge tone="plain">Revoked</Badge> };

const limits = (l: Schemas["Limits"] | undefined) =>
  [l?.requestsPerMinute ? `${count(l.requestsPerMinute)} a minute` : "", l?.concurrent ? `${count(l.concurrent)} at the same time` : ""].filter((part) => part !== "").join(", ");

const columns: Column<Token>[] = [
  { name: "Name", cell: (t) => <span className="break-words">{t.name}</span> },
  { name: "Ends in", cell: (t) => <code className="font-mono">{t.last4}</code> },
  { name: "State", cell: (t) => states[t.status] },
  { name: "Tools", cell: (t) => (t.tools?.length ? <code className="font-mono text-[0.9rem] break-all">{t.tools.join(", ")}</code> : "All") },
  { name: "Limits", wide: true, cell: (t) => limits(t.limits) || <span className="text-muted">None</span> },
  { name: "Valid until", cell: (t) => <span className="whitespace-nowrap">{t.revokedAt ? date(t.revokedAt) : t.expiresAt ? date(t.expiresAt) : "For ever"}</span> },
  { name: "Made", wide: true, cell: (t) => <span className="whitespace-nowrap">{date(t.createdAt)}</span> },
];

const action = (revoke: (t: Token) => void): Column<Token> => ({
  name: "Action",
  cell: (t) =>
    t.status === "valid" ? (
      <Button onClick={() => revoke(t)} aria-label={`Revoke ${t.name}`}>
        Revoke
      </Button>
    ) : null,
});

/** The tokens that open a toolset URL. A token is shown once, when it is made. */
export function AccessTokens({ slug, mode }: { slug: string; mode: Schemas["ToolsetAccess"]["mode"] }) {
  const tokens = useInfiniteQuery(tokensQuery(slug));
  const editor = useCan("editor");
  const [making, setMaking] = useState(false);
  const [chosen, setChosen] = useState<Token | null>(null);
  if (tokens.isError) return <ProblemNote error={tokens.error} retry={() => void tokens.refetch()} />;
  if (tokens.isPending) return <Skeleton rows={2} />;
  const items = tokens.data.pages.flatMap((p) => p.items);
  return (
    <Card title="Access tokens" flush actions={editor ? <Button onClick={() => setMaking(true)}>Make a token</Button> : undefined}>
      {mode !== "token" ? <p className="border-b border-line px-4 py-2.5 text-muted">They count only where holders of an access token may call the tools.</p> : null}
      {items.length > 0 ? (
        <Table label="Access tokens" columns={editor ? [...columns, action(setChosen)] : columns} rows={items} id={(t) => t.id} />
      ) : (
        <p className="p-4 text-muted">No token was made yet.</p>
      )}
      <More list={tokens} />
      <Make slug={slug} open={making} close={() => setMaking(false)} />
      <Confirm
        title={`Revoke ${chosen?.name ?? ""}`}
        of={chosen}
        action="Revoke"
        command={`sluice toolset access ${slug} token revoke ${chosen?.id}`}
        run={(t) => unwrap(api.DELETE("/v1/toolsets/{id}/access-tokens/{token}", { params: { path: { id: slug, token: t.id } } }))}
        stale={["toolset", slug]}
        close={() => setChosen(null)}
      >
        <p>Requests with it are refused at once, and open streams end. It cannot be undone.</p>
      </Confirm>
    </Card>
  );
}

const DAY = 24 * 60 * 60 * 1000;

function Make({ slug, open, close }: { slug: string; open: boolean; close: () => void }) {
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: (body: Schemas["NewAccessToken"]) => unwrap(api.POST("/v1/toolsets/{id}/access-tokens", { params: { path: { id: slug } }, body })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  const shut = () => {
    make.reset();
    close();
  };
  const submit = (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget);
    const read = (name: string) => String(form.get(name) ?? "").trim();
    const tools = read("tools").split(/[\s,]+/).filter((t) => t !== "");
    const days = Number(read("days"));
    const rate = Number(read("rate"));
    make.mutate({
      name: read("name"),
      ...(tools.length > 0 ? { tools } : {}),
      ...(days > 0 ? { expiresAt: new Date(Date.now() + days * DAY).toISOString() } : {}),
      ...(rate > 0 ? { limits: { requestsPerMinute: rate } } : {}),
    });
  };
  return (
    <Dialog title={make.data ? `The token ${make.data.name}` : "Make an access token"} open={open} onClose={shut}>
      {make.data ? (
        <>
          <p className="mb-2">Copy it now: it is not stored, and nobody can show it again.</p>
          <CodeBlock label="the access token" text={make.data.token} />
          {make.data.mode === "token" ? null : <p className="mt-2 text-warn">The toolset URL does not ask for tokens yet: choose holders of an access token, and save.</p>}
          <div className="mt-4 flex justify-end">
            <Button onClick={shut}>Close</Button>
          </div>
        </>
      ) : (
        <form onSubmit={submit} className="space-y-4">
          <TextField label="Name" name="name" autoComplete="off" required maxLength={100} hint="Who or what will use it" />
          <TextField label="Tools" name="tools" autoComplete="off" spellCheck={false} placeholder="list_*, get_*" hint="Names and patterns. Left empty, it opens all tools." />
          <Select label="Valid for" name="days" defaultValue="90">
            <option value="7">7 days</option>
            <option value="30">30 days</option>
            <option value="90">90 days</option>
            <option value="365">A year</option>
            <option value="0">Ever</option>
          </Select>
          <TextField label="Requests per minute" name="rate" type="number" min={1} placeholder="no limit of its own" />
          {make.isError ? <ProblemNote error={make.error} /> : null}
          <p className="text-muted">
            The same in a terminal: <code className="font-mono text-text">sluice toolset access {slug} token create NAME</code>
          </p>
          <div className="flex justify-end gap-2">
            <Button onClick={shut}>Cancel</Button>
            <Button kind="primary" type="submit" busy={make.isPending}>
              Make it
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
