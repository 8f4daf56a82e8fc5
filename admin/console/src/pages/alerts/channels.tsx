import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { Dialog } from "../../components/dialog";
import { More } from "../../components/more";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, unwrapTagged } from "../../lib/api";
import { plural } from "../../lib/format";
import { useCan } from "../../lib/session";
import { AddChannel } from "./addchannel";
import { ChangeDigest, digestWords } from "./digest";
import { ALERTS, channelsQuery, type Channel } from "./queries";
import { Secret } from "./secret";

const kinds = { webhook: "Webhook", slack: "Slack", email: "E-mail" } as const;

const least = { info: "", warning: "Warnings and worse", critical: "Critical ones" } as const;

function told(c: Channel): string {
  const r = c.routes;
  const parts = [r?.kinds?.join(", "), r?.minSeverity ? least[r.minSeverity] : "", r?.toolsets?.length ? plural(r.toolsets.length, "toolset") : ""].filter(Boolean);
  const what = parts.length > 0 ? parts.join("; ") : "Every alert";
  const digest = digestWords(c.digest);
  return digest ? `${what}; ${digest}` : what;
}

const columns: Column<Channel>[] = [
  { name: "Name", cell: (c) => <span className="font-medium">{c.name}</span> },
  { name: "Kind", cell: (c) => kinds[c.kind] },
  { name: "Where", wide: true, cell: (c) => <span className="break-all text-muted">{c.where}</span> },
  { name: "Told of", cell: told },
  { name: "State", cell: (c) => (c.disabled ? <Badge tone="warn">Off: {c.disabled}</Badge> : <Badge tone="ok">On</Badge>) },
];

const actions = (admin: boolean): Column<Channel> => ({ name: "Action", cell: (c) => <Actions channel={c} admin={admin} /> });

export function Channels() {
  const channels = useInfiniteQuery(channelsQuery);
  const admin = useCan("admin");
  const editor = useCan("editor");
  const [adding, setAdding] = useState(false);
  if (channels.isError) return <ProblemNote error={channels.error} retry={() => void channels.refetch()} />;
  if (channels.isPending) return <Skeleton rows={3} />;
  const items = channels.data.pages.flatMap((p) => p.items);
  return (
    <>
      <Card title="Channels" flush actions={admin ? <Button onClick={() => setAdding(true)}>Add a channel</Button> : null}>
        {items.length > 0 ? (
          <Table label="Channels" columns={editor ? [...columns, actions(admin)] : columns} rows={items} id={(c) => c.id} />
        ) : (
          <div className="p-4">
            <p className="text-muted">
              Nobody is notified of alerts: they stand here only. {admin ? "" : "An administrator can add a channel."}
            </p>
          </div>
        )}
        <More list={channels} />
      </Card>
      <AddChannel open={adding} close={() => setAdding(false)} />
      <CommandLine command="sluice notify channel list" />
    </>
  );
}

type Doing = "test" | "switch" | "rotate" | "remove";

function Actions({ channel, admin }: { channel: Channel; admin: boolean }) {
  const queries = useQueryClient();
  const [asking, setAsking] = useState<"rotate" | "remove" | "">("");
  const [digest, setDigest] = useState(false);
  const path = { id: channel.id };
  const act = useMutation({
    mutationFn: async (what: Doing): Promise<Channel | undefined> => {
      if (what === "test") return void (await unwrap(api.POST("/v1/channels/{id}/test", { params: { path } })));
      if (what === "rotate") return unwrap(api.POST("/v1/channels/{id}/rotate-secret", { params: { path } }));
      const { etag } = await unwrapTagged(api.GET("/v1/channels/{id}", { params: { path } }));
      const params = { path, header: { "If-Match": etag } };
      if (what === "remove") return void (await unwrap(api.DELETE("/v1/channels/{id}", { params })));
      return unwrap(api.PATCH("/v1/channels/{id}", { params, body: { enabled: Boolean(channel.disabled) }, headers: { "Content-Type": "application/merge-patch+json" } }));
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ALERTS }),
  });
  const shut = () => {
    setAsking("");
    act.reset();
  };
  const run = (what: Doing) => act.mutate(what, { onSuccess: () => (what === "remove" ? shut() : undefined) });
  const busy = (what: Doing) => act.isPending && act.variables === what;
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Button busy={busy("test")} onClick={() => run("test")} aria-label={`Send a test to ${channel.name}`}>Test</Button>
      {admin ? (
        <>
          <Button busy={busy("switch")} onClick={() => run("switch")} aria-label={`Switch ${channel.name} ${channel.disabled ? "on" : "off"}`}>
            {channel.disabled ? "Switch on" : "Switch off"}
          </Button>
          {channel.kind === "webhook" ? (
            <Button onClick={() => setAsking("rotate")} aria-label={`Give ${channel.name} a new secret`}>New secret</Button>
          ) : null}
          <Button onClick={() => setDigest(true)} aria-label={`Change the digest of ${channel.name}`}>Digest</Button>
          <Button kind="danger" onClick={() => setAsking("remove")} aria-label={`Remove ${channel.name}`}>Remove</Button>
        </>
      ) : null}
      <span role="status" className="text-ok">{act.isSuccess && act.variables === "test" ? "Sent: see Deliveries" : ""}</span>
      {act.isError && asking === "" ? <ProblemNote error={act.error} retry={act.reset} /> : null}
      <ChangeDigest channel={digest ? channel : null} close={() => setDigest(false)} />
      <Dialog title={asking === "remove" ? `Remove ${channel.name}` : `New signing secret for ${channel.name}`} open={asking !== ""} onClose={shut}>
        {act.data?.secret ? (
          <Secret secret={act.data.secret} />
        ) : (
          <p>{asking === "remove" ? "It is notified of nothing any more, and what was to be sent to it is dropped." : "For a day, messages are signed with the old secret too."}</p>
        )}
        {act.isError ? <div className="mt-3"><ProblemNote error={act.error} /></div> : null}
        <p className="mt-3 text-muted">
          The same in a terminal: <code className="font-mono text-text">{`sluice notify channel ${asking === "remove" ? "remove" : "rotate-secret"} ${channel.name}`}</code>
        </p>
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={shut}>{act.data?.secret ? "Close" : "Cancel"}</Button>
          {asking === "" || act.data?.secret ? null : (
            <Button kind={asking === "remove" ? "danger" : "primary"} busy={busy(asking)} onClick={() => run(asking)}>
              {asking === "remove" ? "Remove" : "Make a new secret"}
            </Button>
          )}
        </div>
      </Dialog>
    </div>
  );
}
