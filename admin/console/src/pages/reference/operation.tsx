import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { Card, Page } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { descriptionOf, limitsOf, operationsOf, resolve, typeOf, type ApiDocument, type Operation, type Parameter } from "./document";
import { Method } from "./method";
import { problems } from "./problems";
import { documentQuery } from "./queries";
import { BodySchema, Opens } from "./schema";
import { TryIt } from "./tryit";

/** One operation: what it takes, what it answers, and a form that sends it. */
export function OperationPage() {
  const { operation: id } = useParams({ from: "/reference/$operation" });
  const document = useQuery(documentQuery);
  if (document.isError || document.isPending) {
    return <Page title="API reference">{document.isError ? <ProblemNote error={document.error} retry={() => void document.refetch()} /> : <Skeleton />}</Page>;
  }
  const operation = operationsOf(document.data).find((o) => o.operationId === id);
  if (!operation) {
    return (
      <Page title={id} lead="The API of this node has no such operation.">
        <Link to="/reference" className="text-accent underline">
          All operations
        </Link>
      </Page>
    );
  }
  return <Whole key={id} document={document.data} operation={operation} />;
}

const places = { path: "in the path", query: "in the query", header: "header", cookie: "cookie" };

function Whole({ document, operation: o }: { document: ApiDocument; operation: Operation }) {
  return (
    <Page
      title={o.summary}
      lead={
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <Link to="/reference" className="text-accent underline">
            API reference
          </Link>
          <Link to="/reference" search={{ tag: o.tag }} className="text-accent underline">
            {o.tag}
          </Link>
          <span>{o["x-sluice-role"] ? `Needs the role ${o["x-sluice-role"]}` : "Needs no session or token"}</span>
        </span>
      }
    >
      <p className="mb-4 flex flex-wrap items-center gap-2">
        <Method method={o.method} />
        <code className="min-w-0 font-mono break-all">{o.path}</code>
      </p>
      {descriptionOf(o) ? <p className="mb-5 max-w-3xl break-words">{descriptionOf(o)}</p> : null}
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <div className="min-w-0 space-y-5">
          <Card title="Parameters">
            {o.parameters?.length ? (
              <ul className="divide-y divide-line">
                {o.parameters.map((p) => (
                  <ParameterRow key={`${p.in} ${p.name}`} document={document} parameter={p} />
                ))}
              </ul>
            ) : (
              <p className="text-muted">None.</p>
            )}
          </Card>
          {Object.entries(o.requestBody?.content ?? {}).map(([type, body]) => (
            <Card key={type} title={type === "multipart/form-data" ? "Body, with files" : "Body"} actions={<span className="font-mono text-[0.86rem] break-all text-muted">{type}</span>}>
              <BodySchema document={document} schema={body.schema ?? {}} of="request" />
            </Card>
          ))}
          <Answers document={document} operation={o} />
        </div>
        <TryIt document={document} operation={o} />
      </div>
    </Page>
  );
}

function ParameterRow({ document, parameter: p }: { document: ApiDocument; parameter: Parameter }) {
  const { schema } = resolve(document, p.schema);
  const limits = limitsOf(schema);
  const values = schema.enum ?? schema.items?.enum;
  const example = p.example ?? schema.examples?.[0];
  return (
    <li className="py-2 first:pt-0 last:pb-0">
      <p className="flex flex-wrap items-baseline gap-x-2">
        <code className="font-mono font-medium break-all">{p.name}</code>
        <span className="text-muted">
          {typeOf(document, p.schema)}, {places[p.in]}
          {limits ? ` · ${limits}` : ""}
        </span>
        {p.required ? <span className="text-warn">required</span> : null}
      </p>
      {p.description ? <p className="break-words text-muted">{p.description}</p> : null}
      {values ? <p className="break-words">{schema.items ? "Of" : "One of"} {values.map(String).join(", ")}</p> : null}
      {example !== undefined && !values ? (
        <p className="break-words">
          Such as <code className="font-mono text-[0.9rem] break-all">{String(example)}</code>
        </p>
      ) : null}
    </li>
  );
}

function Answers({ document, operation: o }: { document: ApiDocument; operation: Operation }) {
  const statuses = Object.entries(o.responses).sort(([a], [b]) => a.localeCompare(b)); // "default" comes last
  return (
    <Card title="Answers">
      <ul className="divide-y divide-line">
        {statuses.map(([status, answer]) => {
          const [type, content] = Object.entries(answer.content ?? {})[0] ?? [];
          const headers = Object.entries(answer.headers ?? {});
          return (
            <li key={status} className="py-2 first:pt-0 last:pb-0">
              <h3 className="font-semibold">{status === "default" ? "Any other: a problem" : `${status} ${answer.description}`}</h3>
              {type ? <p className="font-mono text-[0.86rem] break-all text-muted">{type}</p> : null}
              {headers.length > 0 ? (
                <ul>
                  {headers.map(([name, header]) => (
                    <li key={name} className="break-words text-muted">
                      <code className="font-mono text-text">{name}</code> {header.description}
                    </li>
                  ))}
                </ul>
              ) : null}
              {content?.schema ? (
                <Opens title={`Body of ${status === "default" ? "a problem" : status}`}>{() => <BodySchema document={document} schema={content.schema ?? {}} of="answer" />}</Opens>
              ) : null}
            </li>
          );
        })}
      </ul>
      <Opens title="Codes of problems">
        {() => (
          <dl className="space-y-1.5">
            {Object.entries(problems).map(([code, means]) => (
              <div key={code}>
                <dt className="font-mono text-[0.9rem]">{code}</dt>
                <dd className="text-muted">{means}</dd>
              </div>
            ))}
          </dl>
        )}
      </Opens>
    </Card>
  );
}

