import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Select, TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { api, unwrap, type Schemas } from "../../lib/api";
import { faultAt } from "../../lib/problem";
import { toolsetsQuery } from "../../lib/queries";
import { DigestFields, digestOf } from "./digest";
import { ALERTS, type Channel } from "./queries";
import { Secret } from "./secret";

type NewChannel = Schemas["NewChannel"];

/** What the form says, as the API takes it. */
function fromForm(form: FormData, kind: Channel["kind"]): NewChannel {
  const read = (name: string) => String(form.get(name) ?? "").trim();
  const words = (name: string) => read(name).split(/[\s,]+/).filter(Boolean);
  const minSeverity = read("minSeverity") as Alert | "";
  const toolset = read("toolset");
  const routes = { ...(words("kinds").length > 0 ? { kinds: words("kinds") } : {}), ...(minSeverity ? { minSeverity } : {}), ...(toolset ? { toolsets: [toolset] } : {}) };
  const digest = digestOf(read);
  const channel: NewChannel = { name: read("name"), kind, ...(Object.keys(routes).length > 0 ? { routes } : {}), ...(digest.every === "off" ? {} : { digest }) };
  if (kind !== "email") return { ...channel, url: read("url") };
  const port = Number(read("port"));
  const username = read("username");
  return {
    ...channel,
    mail: { host: read("host"), from: read("from"), to: words("to"), security: read("security") as Schemas["Mail"]["security"], ...(port ? { port } : {}), ...(username ? { username } : {}) },
    ...(username ? { password: String(form.get("password") ?? "") } : {}),
  };
}

type Alert = Schemas["Alert"]["severity"];

export function AddChannel({ open, close }: { open: boolean; close: () => void }) {
  const queries = useQueryClient();
  const toolsets = useInfiniteQuery(toolsetsQuery);
  const [kind, setKind] = useState<Channel["kind"]>("webhook");
  const add = useMutation({
    mutationFn: (body: NewChannel) => unwrap(api.POST("/v1/channels", { body })),
    onSuccess: (made) => (made.secret ? undefined : close()),
    onSettled: () => queries.invalidateQueries({ queryKey: ALERTS }),
  });
  const error = (pointer: string) => faultAt(add.error, pointer);
  return (
    <FormDialog
      title="Add a channel"
      open={open}
      close={close}
      does={add}
      action="Add"
      submit={(_, form) => add.mutate(fromForm(form, kind))}
      made={add.data?.secret ? <Secret secret={add.data.secret} /> : null}
    >
      <Select label="Kind" value={kind} onChange={(e) => setKind(e.target.value as Channel["kind"])}>
        <option value="webhook">Webhook (Standard Webhooks)</option>
        <option value="slack">Slack, Mattermost, Rocket.Chat, Discord</option>
        <option value="email">E-mail</option>
      </Select>
      <TextField label="Name" name="name" required maxLength={63} error={error("/name")} />
      {kind === "email" ? (
        <>
          <TextField label="Mail server" name="host" required maxLength={253} error={error("/mail/host")} />
          <div className="grid gap-4 sm:grid-cols-2">
            <Select label="Encryption" name="security" defaultValue="starttls">
              <option value="starttls">STARTTLS</option>
              <option value="tls">TLS</option>
              <option value="none">None (this machine)</option>
            </Select>
            <TextField label="Port" name="port" type="number" min={1} max={65535} hint="Empty: 587, with TLS 465" error={error("/mail/port")} />
          </div>
          <TextField label="From" name="from" type="email" required error={error("/mail/from")} />
          <TextField label="To" name="to" required hint="Addresses, separated by commas" error={error("/mail/to")} />
          <TextField label="Login" name="username" autoComplete="off" hint="Empty: none" />
          <TextField label="Password" name="password" type="password" autoComplete="off" maxLength={1024} error={error("/password")} />
        </>
      ) : (
        <TextField label="URL" name="url" type="url" required maxLength={2048} autoComplete="off" hint={kind === "slack" ? "Of an incoming webhook. It is stored encrypted." : undefined} error={error("/url")} />
      )}
      <Select label="Severity" name="minSeverity" defaultValue="">
        <option value="">Every severity</option>
        <option value="warning">Warning and critical</option>
        <option value="critical">Critical only</option>
      </Select>
      <TextField label="Kinds" name="kinds" hint="Empty: every kind. With globs: upstream.*, key.rotation_due" error={error("/routes/kinds")} />
      <Select label="Toolset" name="toolset" defaultValue="">
        <option value="">Every toolset</option>
        {(toolsets.data?.pages ?? []).flatMap((p) => p.items).map((t) => (
          <option key={t.id} value={t.id}>
            {t.name}
          </option>
        ))}
      </Select>
      <DigestFields error={error} />
    </FormDialog>
  );
}
