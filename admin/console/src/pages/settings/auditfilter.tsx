import { queryOptions, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { FormEvent } from "react";
import { Button } from "../../components/button";
import { Select, TextField } from "../../components/field";
import { api, unwrap } from "../../lib/api";
import { auditOutcomes, KIND, readAuditSearch, type AuditSearch } from "./auditsearch";

const query = { limit: 200 };

/** Whose records can be asked for by name: the newest of each kind. */
const actorsQuery = queryOptions({
  queryKey: ["audit", "actors"],
  queryFn: async () => {
    const [members, tokens, edges] = await Promise.all([
      unwrap(api.GET("/v1/members", { params: { query } })),
      unwrap(api.GET("/v1/tokens", { params: { query } })),
      unwrap(api.GET("/v1/edges", { params: { query } })),
    ]);
    return [
      { label: "Members", actors: members.items.map((m) => ({ id: m.id, name: m.email })) },
      { label: "API tokens", actors: tokens.items.map((t) => ({ id: t.id, name: t.name })) },
      { label: "Edges", actors: edges.items.map((e) => ({ id: e.id, name: e.name })) },
    ].filter((group) => group.actors.length > 0);
  },
  staleTime: 60_000,
});

const kinds = { system: "The node itself", user: "Callers of toolsets", public: "Public requests for connectors", unknown: "Unauthenticated requests" };

/** Chooses the records that are shown: who did what, of what, when, and how it ended. */
export function AuditFilter() {
  const search = useSearch({ from: "/settings/settings/audit" });
  const navigate = useNavigate();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void navigate({ to: "/settings/audit", search: readAuditSearch(Object.fromEntries(new FormData(event.currentTarget))), replace: true });
  };
  // Made anew where the address changes otherwise: by a link, or Back.
  return (
    <form key={JSON.stringify(search)} onSubmit={submit} aria-label="Filter of the audit log" className="grid items-end gap-3 p-3 sm:grid-cols-2 lg:grid-cols-4">
      <Who chosen={search.who} />
      <TextField label="Action" name="what" defaultValue={search.what} maxLength={80} placeholder="toolset.deploy" />
      <TextField label="Resource" name="of" defaultValue={search.of} maxLength={80} placeholder="name or id" />
      <Select label="Outcome" name="outcome" defaultValue={search.outcome ?? ""}>
        <option value="">Any outcome</option>
        {Object.entries(auditOutcomes).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </Select>
      <TextField label="From" name="from" type="date" defaultValue={search.from} />
      <TextField label="To" name="to" type="date" defaultValue={search.to} />
      <div className="flex gap-2">
        <Button type="submit">Filter</Button>
        {Object.keys(search).length > 0 ? <Button onClick={() => void navigate({ to: "/settings/audit", search: {}, replace: true })}>Show all</Button> : null}
      </div>
    </form>
  );
}

function Who({ chosen }: { chosen: AuditSearch["who"] | undefined }) {
  const groups = useQuery(actorsQuery).data ?? [];
  const listed = chosen === undefined || Object.keys(kinds).some((k) => chosen === `${KIND}${k}`) || groups.some((g) => g.actors.some((a) => a.id === chosen));
  return (
    <Select label="Actor" name="who" key={groups.length} defaultValue={chosen ?? ""}>
      <option value="">Anyone</option>
      {listed ? null : <option value={chosen}>{chosen}</option>}
      {groups.map((g) => (
        <optgroup key={g.label} label={g.label}>
          {g.actors.map((a) => (
            <option key={a.id} value={a.id}>
              {a.name}
            </option>
          ))}
        </optgroup>
      ))}
      <optgroup label="Others">
        {Object.entries(kinds).map(([kind, name]) => (
          <option key={kind} value={`${KIND}${kind}`}>
            {name}
          </option>
        ))}
      </optgroup>
    </Select>
  );
}
