import { infiniteQueryOptions, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { AlertTriangle, Clock } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { api, unwrap, type Schemas } from "../lib/api";
import { ago, date, sentence } from "../lib/format";
import { every } from "../lib/live";
import { faultAt } from "../lib/problem";
import { toolsetsQuery } from "../lib/queries";
import { useCan } from "../lib/session";
import { Button } from "./button";
import { Confirm } from "./confirm";
import { Copy } from "./copy";
import { External } from "./external";
import { TextField } from "./field";
import { FormDialog } from "./formdialog";
import { More } from "./more";
import { Card } from "./page";
import { ProblemNote } from "./problem";
import { Skeleton } from "./skeleton";
import { Badge } from "./status";

type Domain = Schemas["Domain"];

const DAY = 24 * 60 * 60 * 1000;
/** Authorities' certificates are renewed weeks before they end: one with less left is worth a look. */
const SOON = 14 * DAY;

/** What a domain waits for is looked at this often where the node does not report changes. */
const EVERY = 5_000;

/** All that shows domains: one more or less is on each of these pages. */
const DOMAINS = ["domains"] as const;

const domainsQuery = (slug: string) =>
  infiniteQueryOptions({
    queryKey: [...DOMAINS, slug],
    queryFn: ({ pageParam }) => {
      const query = { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) };
      return unwrap(slug ? api.GET("/v1/toolsets/{id}/domains", { params: { path: { id: slug }, query } }) : api.GET("/v1/domains", { params: { query } }));
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: (query) => ((query.state.data?.pages ?? []).some((p) => p.items.some((d) => d.state !== "live")) ? every(EVERY)() : false),
  });

const add = (slug: string, host: string) =>
  unwrap(slug ? api.POST("/v1/toolsets/{id}/domains", { params: { path: { id: slug } }, body: { host } }) : api.POST("/v1/domains", { body: { host } }));

const verify = (slug: string, host: string) =>
  unwrap(slug ? api.POST("/v1/toolsets/{id}/domains/{host}/verify", { params: { path: { id: slug, host } } }) : api.POST("/v1/domains/{host}/verify", { params: { path: { host } } }));

const remove = (slug: string, host: string) =>
  unwrap(slug ? api.DELETE("/v1/toolsets/{id}/domains/{host}", { params: { path: { id: slug, host } } }) : api.DELETE("/v1/domains/{host}", { params: { path: { host } } }));

const command = (slug: string, what: string, host: string) => (slug ? `sluice toolset domain ${slug} ${what} ${host}` : `sluice domain ${what} ${host}`);

/** Domains of one toolset, or of the workspace and all of its toolsets. */
export function Domains({ slug = "" }: { slug?: string }) {
  const domains = useInfiniteQuery(domainsQuery(slug));
  const toolsets = useInfiniteQuery({ ...toolsetsQuery, enabled: slug === "" });
  const admin = useCan("admin");
  const [adding, setAdding] = useState(false);
  const [chosen, setChosen] = useState<Domain | null>(null);
  if (domains.isError) return <ProblemNote error={domains.error} retry={() => void domains.refetch()} />;
  if (domains.isPending) return <Skeleton rows={2} />;
  const items = domains.data.pages.flatMap((p) => p.items);
  const slugs = new Map((toolsets.data?.pages ?? []).flatMap((p) => p.items).map((t) => [t.id, t.slug]));
  return (
    <Card title="Domains" flush actions={admin ? <Button onClick={() => setAdding(true)}>Add a domain</Button> : undefined}>
      <p className="border-b border-line px-4 py-2.5 text-muted">
        {slug
          ? "Host names of yours that are the toolset URL, with a certificate that is obtained and renewed. A domain serves nothing until DNS proves that it is yours."
          : "Host names of yours at which the toolsets are, at /t/ and their address. A domain of one toolset, which is its URL, is added on the toolset's page Domains."}
      </p>
      {items.length === 0 ? <p className="p-4 text-muted">{slug ? "The toolset has no domains." : "There are no domains."}{admin ? "" : " Administrators add them."}</p> : null}
      <ul className="divide-y divide-line">
        {items.map((d) => (
          <Entry key={d.id} domain={d} slug={slug} of={d.toolsetId ? (slugs.get(d.toolsetId) ?? d.toolsetId) : ""} remove={admin ? () => setChosen(d) : undefined} />
        ))}
      </ul>
      <More list={domains} />
      <Add slug={slug} open={adding} close={() => setAdding(false)} />
      <Confirm
        title={`Remove ${chosen?.host ?? ""}`}
        of={chosen}
        action="Remove it"
        command={command(slug, "remove", chosen?.host ?? "")}
        run={(d) => remove(slug, d.host)}
        stale={DOMAINS}
        close={() => setChosen(null)}
      >
        <p>Gateways refuse the name at once, and its certificate is revoked. Clients that are notified of it do not reach the toolset any more.</p>
      </Confirm>
    </Card>
  );
}

const states = {
  pending: <Badge tone="warn" Icon={Clock}>pending</Badge>,
  verified: <Badge tone="plain">verified</Badge>,
  issuing: <Badge tone="plain" Icon={Clock}>issuing</Badge>,
  live: <Badge tone="ok">live</Badge>,
  failed: <Badge tone="bad">failed</Badge>,
};

/** What a state means, as sluice domain verify says it. */
const meaning = (d: Domain): string => {
  const cause = d.cause ? sentence(d.cause) : "";
  switch (d.state) {
    case "pending":
      return cause ? sentence(`It is not verified: ${d.cause}`) : "Make these records. They are looked for from time to time for a week.";
    case "failed":
      return sentence(`It is verified and has no certificate: ${d.cause ?? "the reason is not known"}`);
    case "live":
      return cause;
    case "issuing":
      return cause || "It is verified. The authority is being asked for its certificate.";
    case "verified":
      return cause || "It is verified. Its certificate is being obtained, once a toolset that it serves is live.";
  }
};

function Entry({ domain: d, slug, of, remove: removing }: { domain: Domain; slug: string; of: string; remove: (() => void) | undefined }) {
  const queries = useQueryClient();
  const editor = useCan("editor");
  const check = useMutation({
    mutationFn: () => verify(slug, d.host),
    onSettled: () => queries.invalidateQueries({ queryKey: DOMAINS }),
  });
  const checked = check.data?.checkedAt ?? d.checkedAt;
  return (
    <li className="p-4">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h3 className="min-w-0 font-semibold break-all">{d.host}</h3>
        {states[d.state]}
        {slug ? null : of ? (
          <Link to="/toolsets/$slug/domains" params={{ slug: of }} className="text-accent underline">
            {of}
          </Link>
        ) : (
          <span className="text-muted">workspace</span>
        )}
        <span className="ml-auto flex flex-wrap gap-2">
          {editor && d.state !== "live" ? (
            <Button busy={check.isPending} onClick={() => check.mutate()} aria-label={`Verify now: ${d.host}`}>
              Verify now
            </Button>
          ) : null}
          {removing ? (
            <Button onClick={removing} aria-label={`Remove ${d.host}`}>
              Remove
            </Button>
          ) : null}
        </span>
      </div>
      <p role="status" className="mt-1 break-words">
        {meaning(d)}
      </p>
      {d.state === "live" ? (
        <p className="mt-1">{d.toolsetId ? <External href={d.url}>{d.url}</External> : <code className="font-mono break-all">{d.url}SLUG</code>}</p>
      ) : null}
      {d.state === "pending" ? <Records domain={d} /> : null}
      <p className="mt-1 flex flex-wrap gap-x-3 text-muted">
        {checked ? <span>DNS was asked {ago(checked)}</span> : null}
        {d.nextAt ? <span>Tried again {date(d.nextAt)}</span> : null}
        {d.certificate ? <Validity certificate={d.certificate} /> : null}
      </p>
      {check.isError ? (
        <div className="mt-2">
          <ProblemNote error={check.error} />
        </div>
      ) : null}
    </li>
  );
}

const millisecondsTo = (at: string) => Date.parse(at) - Date.now();

/** Until when a certificate is good, with a warning where that is soon. */
function Validity({ certificate: c }: { certificate: Schemas["Certificate"] }) {
  const left = millisecondsTo(c.notAfter);
  return (
    <span className={left < SOON ? "inline-flex items-center gap-1 text-warn" : ""}>
      {left < SOON ? <AlertTriangle aria-hidden size={14} className="shrink-0" /> : null}
      <span>
        Certificate of {c.issuer} {left < 0 ? "expired" : "until"} {date(c.notAfter)}
      </span>
    </span>
  );
}

/** The DNS records to make. */
function Records({ domain: d }: { domain: Domain }) {
  const address = d.dns.some((r) => r.for === "address");
  return (
    <ul className="mt-2 space-y-2">
      {d.dns.map((r) => (
        <li key={`${r.type} ${r.name}`} className="rounded-md border border-line bg-sunken px-3 py-1.5">
          <p className="text-muted">{r.for === "proof" ? "Proves that the domain is yours" : "Leads clients to the gateways"}</p>
          <dl>
            <Part name="Type" value={r.type} />
            <Part name="Name" value={r.name} copy={`Copy the name of the ${r.type} record`} />
            <Part name="Value" value={r.value} copy={`Copy the value of the ${r.type} record`} />
          </dl>
          {r.type === "CNAME" ? <p className="text-muted">Where a zone allows none, such as at its top, A and AAAA records with the addresses of the value do the same.</p> : null}
        </li>
      ))}
      {address ? null : <li className="text-muted">And an A, AAAA or CNAME record of {d.host} with the address of your gateways.</li>}
    </ul>
  );
}

function Part({ name, value, copy }: { name: string; value: string; copy?: string }) {
  return (
    <div className="flex min-h-7 items-center gap-2">
      <dt className="w-12 shrink-0 text-muted">{name}</dt>
      <dd className="flex min-w-0 flex-wrap items-center gap-1">
        <code className="min-w-0 font-mono break-all">{value}</code>
        {copy ? <Copy text={value} label={copy} /> : null}
      </dd>
    </div>
  );
}

function Add({ slug, open, close }: { slug: string; open: boolean; close: () => void }) {
  const queries = useQueryClient();
  const [host, setHost] = useState("");
  const make = useMutation({
    mutationFn: (name: string) => add(slug, name),
    onSuccess: () => setHost(""),
    onSettled: () => queries.invalidateQueries({ queryKey: DOMAINS }),
  });
  return (
    <FormDialog
      title={make.data ? `${make.data.host} is added` : "Add a domain"}
      open={open}
      close={close}
      does={make}
      action="Add it"
      command={command(slug, "add", host || "HOST")}
      submit={(text) => make.mutate(text("host"))}
      made={make.data ? <Made domain={make.data} /> : null}
    >
      <TextField
        label="Host name"
        name="host"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        required
        maxLength={253}
        placeholder="tools.example.com"
        value={host}
        onChange={(e) => setHost(e.target.value)}
        error={faultAt(make.error, "/host")}
        hint={slug ? `https://${host || "HOST"}/ will be the toolset URL` : `Toolsets will be at https://${host || "HOST"}/t/SLUG`}
      />
    </FormDialog>
  );
}

function Made({ domain }: { domain: Domain }) {
  const text = useRef<HTMLParagraphElement>(null);
  useEffect(() => text.current?.focus(), []); // The button that had the focus is gone.
  return (
    <>
      <p ref={text} tabIndex={-1}>
        It serves nothing until DNS proves that it is yours. Make these records; they stand on the page, too.
      </p>
      <Records domain={domain} />
    </>
  );
}
