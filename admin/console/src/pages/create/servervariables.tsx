import { useState } from "react";
import { Select, TextField } from "../../components/field";
import type { Schemas } from "../../lib/api";

type Server = Schemas["APIServer"];

/** The URL of a template with these values; a variable without one stays in braces. */
export const filled = (template: string, values: Record<string, string>) => template.replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => values[name] || whole);

/** Whether a URL is a template with some values for its variables. */
export function fits(template: string | undefined, url: string): boolean {
  if (!template) return false;
  const fixed = template.split(/\{[^{}]*\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${fixed.join("[^/]*")}$`).test(url);
}

const defaultsOf = (s: Server) => Object.fromEntries((s.variables ?? []).map((v) => [v.name, v.default ?? ""]));

/** The variables of the address that is entered, as long as it is one of the specification's with values for them. */
export function ServerVariables({ servers, url, onURL }: { servers: Server[]; url: string; onURL: (url: string) => void }) {
  const [chosen, setChosen] = useState<{ template: string; values: Record<string, string> }>();
  const server = servers.find((s) => s.template && (s.url === url || (s.template === chosen?.template && filled(s.template, chosen.values) === url)));
  if (!server?.template) return null;
  const template = server.template;
  const values = chosen?.template === template && filled(template, chosen.values) === url ? chosen.values : defaultsOf(server);
  const set = (name: string, value: string) => {
    const next = { ...values, [name]: value };
    setChosen({ template, values: next });
    onURL(filled(template, next));
  };
  return (
    <fieldset className="mt-3">
      <legend className="text-muted">
        In <code className="font-mono break-all">{template}</code>
      </legend>
      <div className="mt-1 grid gap-3 sm:grid-cols-2">
        {(server.variables ?? []).map((v) =>
          v.enum && v.enum.length > 1 ? (
            <Select key={v.name} label={v.name} value={values[v.name] ?? ""} onChange={(e) => set(v.name, e.target.value)}>
              {v.enum.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </Select>
          ) : (
            <TextField key={v.name} label={v.name} autoComplete="off" spellCheck={false} value={values[v.name] ?? ""} {...(v.description ? { hint: v.description } : {})} onChange={(e) => set(v.name, e.target.value.trim())} />
          ),
        )}
      </div>
    </fieldset>
  );
}
