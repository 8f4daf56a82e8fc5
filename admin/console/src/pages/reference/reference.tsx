import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { CommandLine } from "../../components/copy";
import { SearchField, Select } from "../../components/field";
import { Card, Page } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { plural } from "../../lib/format";
import { operationsOf, search, type ApiDocument, type Operation } from "./document";
import { Method } from "./method";
import { problems } from "./problems";
import { documentQuery } from "./queries";

/** So many rows reach below a window: the list that comes does, and what is under it must not jump out of sight. */
const BELOW_WINDOW = 30;

/** All operations of the admin API, by what they are about. */
export function Reference() {
  const document = useQuery(documentQuery);
  return (
    <Page
      title="API reference"
      lead={
        <>
          The admin API of this node, from its own{" "}
          <a className="text-accent underline" href="/v1/openapi.json">
            OpenAPI document
          </a>
          . What the console does, it does through it.
        </>
      }
    >
      {document.isError ? <ProblemNote error={document.error} retry={() => void document.refetch()} /> : document.isPending ? <Skeleton rows={BELOW_WINDOW} /> : <Operations document={document.data} />}
      <CommandLine command={`curl -H "Authorization: Bearer $SLUICE_TOKEN" ${location.origin}/v1/openapi.json`} />
    </Page>
  );
}

function Operations({ document }: { document: ApiDocument }) {
  const { q = "", tag = "" } = useSearch({ from: "/reference" });
  const navigate = useNavigate({ from: "/reference" });
  const all = useMemo(() => operationsOf(document), [document]);
  const found = search(all, q).filter((o) => !tag || o.tag === tag);
  const tags = document.tags ?? [];
  const look = (next: { q?: string; tag?: string }) =>
    void navigate({ search: Object.fromEntries(Object.entries({ q, tag, ...next }).filter(([, value]) => value !== "")), replace: true });
  return (
    <div className="space-y-5">
      <div className="flex flex-wrap items-center gap-3">
        <SearchField label="Search operations" value={q} maxLength={100} onChange={(e) => look({ q: e.target.value })} />
        <Select label="About" hidden value={tag} onChange={(e) => look({ tag: e.target.value })}>
          <option value="">About everything</option>
          {tags.map((t) => (
            <option key={t.name}>{t.name}</option>
          ))}
        </Select>
        <p role="status" className="text-muted">
          {found.length === all.length ? plural(all.length, "operation") : `${found.length} of ${plural(all.length, "operation")}`}
        </p>
      </div>
      {tags.map((t) => {
        const operations = found.filter((o) => o.tag === t.name);
        return operations.length > 0 ? (
          <Card key={t.name} title={t.name} flush>
            {t.description ? <p className="border-b border-line px-4 py-2.5 text-muted">{t.description}</p> : null}
            <ul className="divide-y divide-line">
              {operations.map((o) => (
                <Row key={o.operationId} operation={o} />
              ))}
            </ul>
          </Card>
        ) : null;
      })}
      {found.length === 0 ? <p>No operation has all of these words.</p> : null}
      {q || tag ? null : <Problems />}
    </div>
  );
}

function Row({ operation: o }: { operation: Operation }) {
  return (
    <li>
      <Link to="/reference/$operation" params={{ operation: o.operationId }} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2 hover:bg-sunken">
        <Method method={o.method} />
        <span className="min-w-0 font-mono text-[0.9rem] break-all">{o.path}</span>
        <span className="min-w-0 flex-1 basis-60 text-muted">{o.summary}</span>
      </Link>
    </li>
  );
}

/** What the codes of problems mean, for all operations. */
function Problems() {
  return (
    <Card title="Problem codes">
      <p className="mb-3 text-muted">Every answer that is not a success is a problem (RFC 9457) with one of these codes. They do not change.</p>
      <dl className="space-y-2">
        {Object.entries(problems).map(([code, means]) => (
          <div key={code} className="gap-x-4 sm:flex">
            <dt className="shrink-0 basis-60 font-mono text-[0.9rem] break-all">{code}</dt>
            <dd className="min-w-0 text-muted">{means}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}
