import type { Schemas } from "../lib/api";
import { count, plural, sentence } from "../lib/format";
import { Badge } from "./status";

type Detail = Schemas["Detail"];

/** How many tools are listed: a vendor's document can change a thousand. */
const MOST = 100;

const impacts = { breaking: <Badge tone="bad">Breaking</Badge>, safe: <Badge tone="ok">Safe</Badge>, wording: <Badge tone="plain">Wording</Badge> };
const kinds = { added: "New", removed: "Gone", changed: "Changed" };

/** What another version changes: tool by tool, and what the operator edited and keeps. */
export function ChangeList({ changes: c }: { changes: Schemas["Changes"] }) {
  const settings = c.entry?.settings ?? [];
  const yours = c.entry?.yours ?? [];
  return (
    <div className="space-y-3">
      <p>
        {plural(c.added, "tool")} added, {count(c.removed)} removed, {count(c.changed)} changed. {count(c.breaking)} breaking, {count(c.safe)} safe, {count(c.wording)} in wording alone.
      </p>
      {c.origins ? (
        <p className="text-warn">
          Calls would go to {c.origins.to.join(", ")} instead of {c.origins.from.join(", ")}.
          {c.origins.new?.length ? ` It waits until an administrator confirms ${c.origins.new.join(", ")} on the page Authentication.` : ""}
        </p>
      ) : null}
      {c.tools.length + settings.length > 0 ? (
        <ul aria-label="What changes" className="divide-y divide-line rounded-md border border-line">
          {c.tools.slice(0, MOST).map((t) => (
            <li key={`${t.kind} ${t.method} ${t.path}`} className="px-3 py-2">
              <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
                <span className="font-mono font-medium break-all">{t.tool}</span>
                <span>{kinds[t.kind]}</span>
                {impacts[t.impact]}
                <span className="font-mono text-[0.86rem] break-all text-muted">
                  {t.method} {t.path}
                </span>
              </p>
              <Details details={t.details} />
            </li>
          ))}
          {settings.length > 0 ? (
            <li className="px-3 py-2">
              <p className="font-medium">Settings</p>
              <Details details={settings} />
            </li>
          ) : null}
        </ul>
      ) : null}
      {c.tools.length > MOST ? <p className="text-muted">And {plural(c.tools.length - MOST, "more tool")}: sluice toolset diff lists all.</p> : null}
      {c.workflows?.length ? (
        <ul className="list-disc pl-5">
          {c.workflows.map((w) => (
            <li key={w.name} className="break-words">
              {effects[w.effect]} <span className="font-mono">{w.name}</span> ({w.operations.join(", ")})
            </li>
          ))}
        </ul>
      ) : null}
      {yours.length > 0 ? (
        <>
          <p className="font-medium">What you edited stays</p>
          <ul className="list-disc pl-5">
            {yours.map((k) => (
              <li key={`${k.tool} ${k.where}`} className="break-words">
                {k.where}
                {k.tool ? ` of ${k.tool}` : ""}
                {k.entry ? <span className="text-muted">; the entry says: {k.entry}</span> : null}
              </li>
            ))}
          </ul>
        </>
      ) : null}
    </div>
  );
}

const effects = { waits: "Not served until it is replaced:", breaking: "Calls what changed in a breaking way:", serves: "Served again:" };

function Details({ details }: { details: Detail[] }) {
  return (
    <ul className="space-y-1">
      {details.map((d, i) => (
        <li key={`${i} ${d.where}`} className="mt-1">
          <p className="break-words text-muted">
            {d.where}: {sentence(d.what)}
          </p>
          {d.old ? <p className="break-words line-through decoration-bad">{d.old}</p> : null}
          {d.new ? <p className="break-words">{d.new}</p> : null}
        </li>
      ))}
    </ul>
  );
}
