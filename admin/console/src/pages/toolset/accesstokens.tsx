import { infiniteQueryOptions, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { Select, TextField } from "../../components/field";
import { FormDialog, Once } from "../../components/formdialog";
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
  return (
    <FormDialog
      title={make.data ? `The token ${make.data.name}` : "Make an access token"}
      open={open}
      close={close}
      does={make}
      action="Make it"
      command={`sluice toolset access ${slug} token create NAME`}
      submit={(text) => {
        const tools = text("tools").split(/[\s,]+/).filter((t) => t !== "");
        const days = Number(text("days"));
        const rate = Number(text("rate"));
        make.mutate({
          name: text("name"),
          ...(tools.length > 0 ? { tools } : {}),
          ...(days > 0 ? { expiresAt: new Date(Date.now() + days * DAY).toISOString() } : {}),
          ...(rate > 0 ? { limits: { requestsPerMinute: rate } } : {}),
        });
      }}
      made={
        make.data ? (
          <>
            <Once label="the access token" text={make.data.token} />
            {make.data.mode === "token" ? null : <p className="mt-2 text-warn">The toolset URL does not ask for tokens yet: choose holders of an access token, and save.</p>}
          </>
        ) : null
      }
    >
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
    </FormDialog>
  );
}
