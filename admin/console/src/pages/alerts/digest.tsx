import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Select, TextField } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { api, unwrap, unwrapTagged, type Schemas } from "../../lib/api";
import { faultAt } from "../../lib/problem";
import { ALERTS, type Channel } from "./queries";

type Digest = Schemas["Digest"];

/** The zone of this browser, where it names one. */
const here = () => Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

/** What the fields of a digest say; off: each notice comes by itself. */
export function digestOf(read: (name: string) => string): Digest {
  const every = (read("digest") || "off") as Digest["every"];
  return every === "daily" ? { every, at: read("digestAt") || "08:00", zone: read("digestZone") || "UTC" } : { every };
}

/** When a channel gets what is not critical, in words. */
export function digestWords(digest: Digest | undefined): string {
  if (!digest || digest.every === "off") return "";
  return digest.every === "hourly" ? "digest hourly" : `digest daily ${digest.at || "08:00"} ${digest.zone || "UTC"}`;
}

export function DigestFields({ digest, error }: { digest?: Digest | undefined; error: (pointer: string) => string | undefined }) {
  const [every, setEvery] = useState<Digest["every"]>(digest?.every ?? "off");
  return (
    <>
      <Select label="What is not critical" name="digest" value={every} onChange={(e) => setEvery(e.target.value as Digest["every"])}>
        <option value="off">Each notice at once</option>
        <option value="hourly">In one message every hour</option>
        <option value="daily">In one message a day</option>
      </Select>
      {every === "daily" ? (
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField label="At" name="digestAt" type="time" required defaultValue={digest?.at || "08:00"} error={error("/digest/at")} />
          <TextField label="Time zone" name="digestZone" required maxLength={60} defaultValue={digest?.zone || here()} hint="Such as Europe/Berlin" error={error("/digest/zone")} />
        </div>
      ) : null}
    </>
  );
}

/** Changes the digest of a channel; null: the dialog is closed. */
export function ChangeDigest({ channel, close }: { channel: Channel | null; close: () => void }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: async (digest: Digest) => {
      const path = { id: channel?.id ?? "" };
      const { etag } = await unwrapTagged(api.GET("/v1/channels/{id}", { params: { path } }));
      return unwrap(api.PATCH("/v1/channels/{id}", { params: { path, header: { "If-Match": etag } }, body: { digest }, headers: { "Content-Type": "application/merge-patch+json" } }));
    },
    onSuccess: () => close(),
    onSettled: () => queries.invalidateQueries({ queryKey: ALERTS }),
  });
  return (
    <FormDialog
      title={`Digest of ${channel?.name ?? ""}`}
      open={channel !== null}
      close={close}
      does={change}
      action="Save"
      command={`sluice notify channel set ${channel?.name ?? "NAME"} --digest hourly|daily|off`}
      submit={(read) => change.mutate(digestOf(read))}
    >
      <p className="text-muted">Critical alerts come at once, whatever is set here.</p>
      <DigestFields digest={channel?.digest} error={(pointer) => faultAt(change.error, pointer)} />
    </FormDialog>
  );
}
