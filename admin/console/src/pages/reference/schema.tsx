import { useState } from "react";
import { CodeBlock } from "../../components/copy";
import { limitsOf, maxDepth, resolve, sample, typeOf, type ApiDocument, type SampleOptions, type Schema } from "./document";

interface Props {
  document: ApiDocument;
  schema: Schema;
  of: SampleOptions["of"];
}

/** A part that is made when it is opened: schemas nest in themselves. */
export function Opens({ title, children }: { title: string; children: () => React.ReactNode }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(e) => setOpen(e.currentTarget.open)} className="mt-1.5">
      <summary className="min-h-6 text-accent">{title}</summary>
      {open ? <div className="mt-1.5">{children()}</div> : null}
    </details>
  );
}

/** A body: what it is, its members, and an example. */
export function BodySchema({ document, schema, of }: Props) {
  return (
    <>
      <p className="mb-2">{typeOf(document, schema)}</p>
      <Members document={document} schema={schema} of={of} depth={0} />
      <Opens title="Example">{() => <CodeBlock label="the example" text={JSON.stringify(sample(document, schema, { of }), null, 2)} />}</Opens>
    </>
  );
}

/** The schemas below one that have members of their own. */
function nested(document: ApiDocument, schema: Schema): Schema[] {
  const { schema: s } = resolve(document, schema);
  if (s.properties) return [schema];
  const inner = s.items ?? (typeof s.additionalProperties === "object" ? s.additionalProperties : undefined);
  return [...(inner ? [inner] : []), ...(s.oneOf ?? s.anyOf ?? s.allOf ?? [])].flatMap((one) => nested(document, one));
}

function Members({ document, schema, of, depth }: Props & { depth: number }) {
  return nested(document, schema).map((one, i) => {
    const { name, schema: s } = resolve(document, one);
    return (
      <ul key={name || i} aria-label={name ? `Members of ${name}` : "Members"} className="mb-2 divide-y divide-line border-l-2 border-line pl-3">
        {Object.entries(s.properties ?? {}).map(([member, p]) => (
          <Member key={member} document={document} name={member} schema={p} required={s.required?.includes(member) ?? false} of={of} depth={depth} />
        ))}
      </ul>
    );
  });
}

function Member({ document, name, schema, required, of, depth }: Props & { name: string; required: boolean; depth: number }) {
  const { schema: s } = resolve(document, schema);
  const limits = limitsOf(s);
  const values = s.enum ?? s.items?.enum;
  const inner = nested(document, schema).length > 0;
  return (
    <li className="py-1.5">
      <p className="flex flex-wrap items-baseline gap-x-2">
        <code className="font-mono font-medium break-all">{name}</code>
        <span className="text-muted">
          {typeOf(document, schema)}
          {limits ? ` · ${limits}` : ""}
        </span>
        {required ? <span className="text-warn">required</span> : null}
      </p>
      {s.description ? <p className="break-words text-muted">{s.description}</p> : null}
      {values ? <p className="break-words">One of {values.map((v) => JSON.stringify(v)).join(", ")}</p> : null}
      {inner && depth + 1 < maxDepth ? <Opens title={`Members of ${name}`}>{() => <Members document={document} schema={schema} of={of} depth={depth + 1} />}</Opens> : null}
    </li>
  );
}
