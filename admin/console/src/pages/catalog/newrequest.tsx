import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useRef, useState, type FormEvent } from "react";
import { Button, buttonClass } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { TextArea, TextField } from "../../components/field";
import { Card, Page } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, unwrap, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { asProblem, faultAt } from "../../lib/problem";
import { useSettled } from "../../lib/settled";
import { REQUESTS, similarQuery } from "./queries";
import { RequestBadge, Vote } from "./requests";

type Wish = Schemas["NewRequest"];
type Name = "serviceName" | "website" | "apiDocsUrl" | "useCase" | "expectedVolume";

/** What is wrong with a field before it is sent; the API says the rest. */
function check(wish: Wish): Partial<Record<Name, string>> {
  const faults: Partial<Record<Name, string>> = {};
  if (wish.serviceName.length < 2) faults.serviceName = "Enter the name of the service.";
  for (const name of ["website", "apiDocsUrl"] as const) {
    if (!/^https?:\/\/[^\s/]+/.test(wish[name])) faults[name] = "Enter an address that begins with https://.";
  }
  if (wish.useCase.length < 10) faults.useCase = "Say in a sentence what agents shall do with it.";
  if (!wish.expectedVolume) faults.expectedVolume = "Say roughly how much it would be used.";
  return faults;
}

/** The form with its five fields. What is alike is shown while it is filled in. */
export function NewRequest() {
  const search = useSearch({ from: "/catalog/requests/new" });
  const [wish, setWish] = useState<Wish>({ serviceName: search.name ?? "", website: "", apiDocsUrl: "", useCase: "", expectedVolume: "" });
  const [faults, setFaults] = useState<Partial<Record<Name, string>>>({});
  const form = useRef<HTMLFormElement>(null);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const send = useMutation({
    mutationFn: (evenIfSimilar: boolean) => unwrap(api.POST("/v1/connector-requests", { params: { query: evenIfSimilar ? { evenIfSimilar } : {} }, body: wish })),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: REQUESTS });
      await navigate({ to: "/catalog/requests" });
    },
  });
  const field = (name: Name) => ({
    name,
    value: wish[name],
    error: faults[name] ?? faultAt(send.error, `/${name}`),
    onChange: (e: { target: { value: string } }) => {
      setWish({ ...wish, [name]: e.target.value });
      setFaults({ ...faults, [name]: undefined });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const found = check(wish);
    setFaults(found);
    const first = Object.keys(found)[0];
    if (first) return form.current?.querySelector<HTMLElement>(`[name=${first}]`)?.focus();
    send.mutate(false);
  };
  const conflict = send.isError && asProblem(send.error).status === 409;
  return (
    <Page title="Request a connector" lead="Others of the workspace see it and vote. It has your vote.">
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Card>
          <form ref={form} onSubmit={submit} noValidate className="space-y-4">
            <TextField label="Service" maxLength={80} {...field("serviceName")} />
            <TextField label="Website" type="url" maxLength={500} placeholder="https://" {...field("website")} />
            <TextField label="Documentation of its API" type="url" maxLength={500} placeholder="https://" {...field("apiDocsUrl")} />
            <TextArea label="What agents shall do with it" maxLength={2000} {...field("useCase")} />
            <TextField label="How much it would be used" maxLength={200} hint="Such as 1,000 calls a day" {...field("expectedVolume")} />
            {send.isError ? <ProblemNote error={send.error} /> : null}
            <div className="flex flex-wrap justify-end gap-2">
              <Link to="/catalog/requests" className={buttonClass()}>
                Cancel
              </Link>
              {conflict ? (
                <Button busy={send.isPending} onClick={() => send.mutate(true)}>
                  Send all the same
                </Button>
              ) : null}
              <Button kind="primary" type="submit" busy={send.isPending}>
                Send
              </Button>
            </div>
          </form>
        </Card>
        <Similar wish={wish} />
      </div>
      <CommandLine command={`sluice request create ${shellWord(wish.serviceName || "Acme CRM")}`} />
    </Page>
  );
}

/** Requests and entries of the catalog that are alike, so that people vote instead of asking twice. */
function Similar({ wish }: { wish: Wish }) {
  const { serviceName, website, useCase: purpose } = wish;
  const settled = useSettled(JSON.stringify({ serviceName: serviceName.trim(), website: website.trim(), useCase: purpose }));
  const similar = useQuery(similarQuery(JSON.parse(settled) as Pick<Wish, "serviceName" | "website" | "useCase">));
  const requests = similar.data?.requests ?? [];
  const entries = similar.data?.entries ?? [];
  return (
    <Card title="What is there already">
      {similar.isError ? <ProblemNote error={similar.error} retry={() => void similar.refetch()} /> : null}
      <p role="status" className="text-muted">
        {similar.isError ? "" : requests.length + entries.length === 0 ? "Nothing alike so far." : `${entries.length} in the catalog and ${requests.length} requested are alike.`}
      </p>
      <ul className="mt-2 space-y-3">
        {entries.map((e) => (
          <li key={e.id}>
            <Link to="/catalog/$entry" params={{ entry: e.id }} className="font-medium text-accent underline">
              {e.name}
            </Link>{" "}
            is in the catalog. <span className="text-muted">{e.summary}</span>
          </li>
        ))}
        {requests.map(({ request: r, because }) => (
          <li key={r.id} className="flex items-start gap-3">
            <Vote request={r} />
            <div className="min-w-0">
              <p className="flex flex-wrap items-center gap-2">
                <span className="font-medium break-words">{r.serviceName}</span>
                <RequestBadge state={r.state} />
              </p>
              <p className="line-clamp-2 break-words">{r.useCase}</p>
              <p className="text-muted">Alike in {because.join(", ")}</p>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}
