import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { Select, TextField } from "../../components/field";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, type Schemas } from "../../lib/api";
import { sentence } from "../../lib/format";
import { finish } from "../../lib/jobs";
import { asProblem, faultAt } from "../../lib/problem";
import { keepDraft, readDraft } from "../create/draft";
import type { Entry } from "./queries";

type Auth = Schemas["EntryAuth"];

/** A login opens pages of other origins, which the command line does. */
const byKey = (a: Auth) => a.settings.authType !== "oauth";

/** What is sent of the credential that was entered, as the entry says where it goes. */
function credential(auth: Auth | undefined, form: FormData): Schemas["SetAuth"] | undefined {
  const secret = String(form.get("secret") ?? "").trim();
  if (!auth || !secret) return undefined;
  const settings = { ...auth.settings } as Schemas["SetAuth"];
  switch (settings.authType) {
    case "bearer":
      return { ...settings, token: secret };
    case "basic":
      return { ...settings, username: settings.username ?? String(form.get("username") ?? "").trim(), password: secret };
    default:
      return { ...settings, apiKey: secret };
  }
}

/** The form's field of an argument whose value the entry asks for. */
const valueField = (name: string) => `value ${name}`;

/** Makes a draft of an entry, which goes on with the steps of any other draft. */
export function AddEntry({ entry: e }: { entry: Entry }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [phase, setPhase] = useState("");
  const [missing, setMissing] = useState<string[]>([]);
  const keys = e.authentication.filter(byKey);
  const auth = keys[0];
  const { useCases: purposes = [] } = e;
  const needsLogin = e.authentication.length > 0 && keys.length === 0;
  const needsKey = keys.length > 0 && Boolean(e.source.mcp);
  const asksAddress = Boolean(e.base?.ask) && !e.base?.url;
  const asked = Object.entries(e.values ?? {});

  const add = useMutation({
    mutationFn: (form: FormData) => {
      const read = (name: string) => String(form.get(name) ?? "").trim();
      const useCase = read("useCase");
      const url = read("url");
      const baseUrl = read("baseUrl");
      const authentication = credential(auth, form);
      const values = Object.fromEntries(asked.map(([name]) => [name, read(valueField(name))]));
      return finish<Schemas["CreatedToolset"]>(
        api.POST("/v1/toolsets", {
          body: {
            source: {
              catalog: {
                entry: e.id,
                ...(useCase ? { useCase } : {}),
                ...(url ? { url } : {}),
                ...(asked.length > 0 ? { values } : {}),
                ...(form.has("readOnly") ? { readOnly: true } : {}),
                ...(form.has("partial") ? { partial: true } : {}),
              },
            },
            ...(baseUrl ? { baseUrl } : {}),
            ...(authentication ? { authentication } : {}),
            deploy: { skip: true },
          },
        }),
        setPhase,
      );
    },
    onSuccess: async (made) => {
      keepDraft({ ...readDraft(), slug: made.slug, token: made.accessToken?.token ?? "" });
      void queries.invalidateQueries({ queryKey: ["toolsets"] });
      await navigate({ to: "/toolsets/new/$slug/review", params: { slug: made.slug } });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const needed = [...(asksAddress ? ["baseUrl"] : []), ...asked.map(([name]) => valueField(name)), ...(needsKey ? ["secret"] : [])];
    const empty = needed.filter((name) => !String(form.get(name) ?? "").trim());
    setMissing(empty);
    if (empty.length > 0) return event.currentTarget.querySelector<HTMLInputElement>(`[name="${CSS.escape(empty[0] ?? "")}"]`)?.focus();
    setPhase("");
    add.mutate(form);
  };
  const error = (name: string, pointer: string) => (missing.includes(name) ? "Enter it." : faultAt(add.error, pointer));
  const partial = add.isError && /partial/.test(asProblem(add.error).remedy + asProblem(add.error).detail);

  if (needsLogin) {
    return (
      <Card title="Add">
        <p>You log in at the service to add it, and the console cannot do that yet: use the command below. It opens the page of the service.</p>
      </Card>
    );
  }
  return (
    <Card title="Add">
      <form onSubmit={submit} noValidate className="space-y-4">
        <p className="text-muted">The node reads the document of the vendor now and makes a draft of it. You look at its tools, test one of them, and it is deployed when the test passes.</p>
        {asksAddress ? (
          <TextField label="Address of the API" name="baseUrl" type="url" autoComplete="off" hint={e.base?.ask} error={error("baseUrl", "/baseUrl")} />
        ) : null}
        {asked.map(([name, which]) => (
          <TextField
            key={name}
            label={`${name} of all calls`}
            name={valueField(name)}
            autoComplete="off"
            hint={`${sentence(which)} Agents do not see it.`}
            error={error(valueField(name), `/source/catalog/values/${name}`)}
          />
        ))}
        {purposes.length > 0 ? (
          <Select label="Tools" name="useCase" defaultValue="">
            <option value="">All of this connector</option>
            {purposes.map((u) => (
              <option key={u.id} value={u.id}>
                {u.summary}
              </option>
            ))}
          </Select>
        ) : null}
        <Tick name="readOnly" label="Only tools that read" />
        {auth?.settings.authType === "basic" && !auth.settings.username ? <TextField label="User name" name="username" autoComplete="off" /> : null}
        {auth ? (
          <TextField
            label="Key"
            name="secret"
            type="password"
            autoComplete="new-password"
            spellCheck={false}
            hint={`${sentence(auth.key)} Stored encrypted, and shown to nobody again.${needsKey ? "" : " It can be set later."}`}
            error={error("secret", "/authentication")}
          />
        ) : null}
        <details>
          <summary className="min-h-6 text-muted">Another source</summary>
          <div className="mt-3 space-y-3">
            <TextField label="Read the document here" name="url" type="url" autoComplete="off" hint="Such as from a mirror; empty: at the vendor" error={error("url", "/source/catalog/url")} />
            <Tick name="partial" label="Leave out tools that the document does not have" />
          </div>
        </details>
        {add.isError ? <ProblemNote error={add.error} /> : null}
        {partial ? <p className="text-muted">“Another source” has the switch that leaves such tools out.</p> : null}
        <div className="flex flex-wrap items-center justify-end gap-3">
          <p role="status" className="text-muted">{add.isPending ? phase || "Reading the document of the vendor" : ""}</p>
          <Button kind="primary" type="submit" busy={add.isPending}>
            Add
          </Button>
        </div>
      </form>
    </Card>
  );
}

const Tick = ({ name, label }: { name: string; label: string }) => (
  <label className="flex min-h-6 items-center gap-2">
    <input type="checkbox" name={name} className="size-4 accent-(--accent)" />
    {label}
  </label>
);
