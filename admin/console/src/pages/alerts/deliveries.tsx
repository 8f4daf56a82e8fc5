import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { Dialog } from "../../components/dialog";
import { Select } from "../../components/field";
import { Moment } from "../../components/moment";
import { More } from "../../components/more";
import { Card, Fact } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Badge } from "../../components/status";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { date, milliseconds } from "../../lib/format";
import { useCan } from "../../lib/session";
import { ALERTS, channelsQuery, deliveriesQuery, type Delivery } from "./queries";

function DeliveryState({ state }: { state: Delivery["state"] }) {
  if (state === "delivered") return <Badge tone="ok">Delivered</Badge>;
  if (state === "dead") return <Badge tone="bad">Given up</Badge>;
  if (state === "digested") return <Badge tone="plain">In a digest</Badge>;
  return <Badge tone="plain">Pending</Badge>;
}

/** Names of the channels by their ids; a channel that was removed keeps its id. */
function useChannelNames() {
  const channels = useInfiniteQuery(channelsQuery);
  return new Map((channels.data?.pages ?? []).flatMap((p) => p.items).map((c) => [c.id, c.name]));
}

const columns = (names: Map<string, string>, show: (d: Delivery) => void): Column<Delivery>[] => [
  {
    name: "Message",
    cell: (d) => (
      <button type="button" className="min-h-6 text-left font-mono text-[0.9rem] text-accent hover:underline" onClick={() => show(d)}>
        {d.type}
        <span className="sr-only"> of {date(d.createdAt)}</span>
      </button>
    ),
  },
  { name: "Channel", cell: (d) => d.channelName ?? names.get(d.channel) ?? d.channel },
  { name: "State", cell: (d) => <DeliveryState state={d.state} /> },
  { name: "Attempts", number: true, cell: (d) => d.attempts },
  { name: "Last answer", wide: true, cell: (d) => <span className="line-clamp-1">{d.fault ?? d.status ?? "–"}</span> },
  { name: "Made", cell: (d) => <Moment at={d.createdAt} /> },
];

/** The delivery log, of everything or of one alert. */
export function Deliveries({ alert }: { alert: string }) {
  const names = useChannelNames();
  const [state, setState] = useState<Delivery["state"] | "">("");
  const [channel, setChannel] = useState("");
  const [shown, setShown] = useState<Delivery | null>(null);
  const list = useInfiniteQuery(deliveriesQuery({ ...(state ? { state } : {}), ...(channel ? { channel } : {}), ...(alert ? { alert } : {}) }));
  if (list.isError) return <ProblemNote error={list.error} retry={() => void list.refetch()} />;
  if (list.isPending) return <Skeleton rows={3} />;
  const items = list.data.pages.flatMap((p) => p.items);
  const filtered = state !== "" || channel !== "";
  return (
    <Card title={alert ? "Who was told" : undefined} flush>
      {alert ? null : (
        <div className="grid gap-3 border-b border-line p-3 sm:grid-cols-[16rem_16rem]">
          <Select label="State" hidden value={state} onChange={(e) => setState(e.target.value as typeof state)}>
            <option value="">Every state</option>
            <option value="pending">Pending</option>
            <option value="delivered">Delivered</option>
            <option value="dead">Given up</option>
            <option value="digested">In a digest</option>
          </Select>
          <Select label="Channel" hidden value={channel} onChange={(e) => setChannel(e.target.value)}>
            <option value="">Every channel</option>
            {[...names].map(([id, name]) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </Select>
        </div>
      )}
      {items.length > 0 ? (
        <Table label="Deliveries" columns={columns(names, setShown)} rows={items} id={(d) => d.id + d.channel} />
      ) : (
        <p className="p-4 text-muted">{filtered ? "None that fits." : alert ? "No channel was notified of it." : "No message was sent yet."}</p>
      )}
      <More list={list} />
      <One delivery={shown ? (items.find((d) => d.id === shown.id && d.channel === shown.channel) ?? shown) : null} channel={names.get(shown?.channel ?? "") ?? ""} close={() => setShown(null)} />
    </Card>
  );
}

const attempts: Column<Schemas["Attempt"]>[] = [
  { name: "At", cell: (a) => <span className="whitespace-nowrap">{date(a.at)}</span> },
  { name: "Took", number: true, cell: (a) => milliseconds(a.ms) },
  { name: "Status", number: true, cell: (a) => a.status ?? "–" },
  { name: "Fault", cell: (a) => <span className="break-words">{a.fault ?? "None: it was taken"}</span> },
];

/** What became of a message, attempt by attempt. */
function One({ delivery, channel, close }: { delivery: Delivery | null; channel: string; close: () => void }) {
  const queries = useQueryClient();
  const editor = useCan("editor");
  const again = useMutation({
    mutationFn: (id: string) => unwrap(api.POST("/v1/deliveries/{id}/redeliver", { params: { path: { id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ALERTS }),
  });
  const shut = () => {
    again.reset();
    close();
  };
  return (
    <Dialog wide title={`Message ${delivery?.type ?? ""}`} open={delivery !== null} onClose={shut}>
      {delivery ? (
        <div className="space-y-4">
          <dl>
            <Fact name="Id"><code className="font-mono break-all">{delivery.id}</code></Fact>
            <Fact name="Channel">{channel || delivery.channel}</Fact>
            <Fact name="State"><DeliveryState state={delivery.state} /></Fact>
            {delivery.nextAt && delivery.state === "pending" ? <Fact name="Next attempt">{date(delivery.nextAt)}</Fact> : null}
          </dl>
          {delivery.log.length > 0 ? (
            <Table label="Attempts" columns={attempts} rows={delivery.log} id={(a) => a.at} />
          ) : (
            <p className="text-muted">It was not tried yet.</p>
          )}
          {again.isError ? <ProblemNote error={again.error} /> : null}
          <p className="text-muted">
            The same in a terminal: <code className="font-mono break-all text-text">sluice notify redeliver {delivery.id}</code>
          </p>
          <div className="flex flex-wrap items-center justify-end gap-2">
            <span role="status" className="text-ok">{again.isSuccess ? "It is sent again." : ""}</span>
            {editor && delivery.state !== "pending" ? (
              <Button busy={again.isPending} onClick={() => again.mutate(delivery.id)}>
                Send again
              </Button>
            ) : null}
            <Button onClick={shut}>Close</Button>
          </div>
        </div>
      ) : null}
    </Dialog>
  );
}

export function DeliveryLog() {
  return (
    <>
      <Deliveries alert="" />
      <CommandLine command="sluice notify deliveries" />
    </>
  );
}
