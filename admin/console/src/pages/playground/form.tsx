import type { ReactNode } from "react";
import { Select, TextArea, TextField } from "../../components/field";

export interface Property {
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  default?: unknown;
  examples?: unknown[];
}

export interface InputSchema {
  properties?: Record<string, Property>;
  required?: string[];
}

export type Arguments = Record<string, unknown>;

export const asSchema = (schema: unknown): InputSchema => (typeof schema === "object" && schema !== null ? (schema as InputSchema) : {});

const typeOf = (p: Property) => (Array.isArray(p.type) ? (p.type.find((t) => t !== "null") ?? "") : (p.type ?? ""));

/** What stands in a field for a value. */
export const shownValue = (value: unknown) => (value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value));

/** What the schema gives as an example of a required argument; descriptions end with one too. */
export function examplesOf(schema: InputSchema): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of schema.required ?? []) {
    const p = schema.properties?.[name];
    const text = shownValue(p?.examples?.[0] ?? p?.default ?? p?.enum?.[0]) || (/\be\.g\. (\S+)$/.exec(p?.description ?? "")?.[1] ?? "");
    if (text) found[name] = text;
  }
  return found;
}

/** The arguments that were written; a text: what is wrong with which field. */
export function argumentsOf(schema: InputSchema, fields: Record<string, string>): { values: Arguments; faults: Record<string, string> } {
  const values: Arguments = {};
  const faults: Record<string, string> = {};
  for (const [name, text] of Object.entries(fields)) {
    if (text === "") continue;
    const type = typeOf(schema.properties?.[name] ?? {});
    if (type === "string") {
      values[name] = text;
      continue;
    }
    try {
      values[name] = JSON.parse(text);
    } catch {
      if (type === "") values[name] = text;
      else faults[name] = type === "integer" || type === "number" ? "Write a number." : `Write JSON of the type ${type}.`;
    }
  }
  for (const name of schema.required ?? []) if (values[name] === undefined && !faults[name]) faults[name] = "It is required.";
  return { values, faults };
}

/** The arguments of a JSON text; undefined: it is not an object. */
export function readArguments(text: string): Arguments | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() || "{}");
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Arguments) : undefined;
  } catch {
    return undefined;
  }
}

/** What stands in place of the plain field of an argument; undefined: nothing does. */
export type OwnField = (name: string, label: string, hint: string | undefined, error: string | undefined) => ReactNode;

interface Props {
  own?: OwnField;
  schema: InputSchema;
  fields: Record<string, string>;
  faults: Record<string, string>;
  onChange: (name: string, text: string) => void;
}

/** A field for each argument; those that are required come first. */
export function SchemaForm({ own, schema, fields, faults, onChange }: Props) {
  const required = new Set(schema.required);
  const all = Object.entries(schema.properties ?? {});
  const sorted = [...all.filter(([name]) => required.has(name)), ...all.filter(([name]) => !required.has(name))];
  if (sorted.length === 0) return <p className="text-muted">This tool takes no arguments.</p>;
  return sorted.map(([name, property]) => {
    const type = typeOf(property);
    const label = required.has(name) ? `${name} (required)` : name;
    const value = fields[name] ?? "";
    const hint = property.description;
    const fault = faults[name] ? { error: faults[name] } : {};
    const special = own?.(name, label, hint, faults[name]);
    if (special) return <div key={name}>{special}</div>;
    if (type === "boolean" || property.enum) {
      const choices = property.enum ?? [true, false];
      return (
        <div key={name}>
          <Select label={label} value={value} onChange={(e) => onChange(name, e.target.value)}>
            <option value="">{required.has(name) ? "Choose" : "Not given"}</option>
            {choices.map((choice) => (
              <option key={String(choice)} value={shownValue(choice)}>
                {shownValue(choice)}
              </option>
            ))}
          </Select>
          {fault.error ? <p className="mt-1 text-bad">{fault.error}</p> : hint ? <p className="mt-1 line-clamp-3 text-muted">{hint}</p> : null}
        </div>
      );
    }
    const common = { label, value, spellCheck: false, ...(hint ? { hint } : {}), ...fault };
    if (type === "object" || type === "array") {
      return <TextArea key={name} {...common} placeholder={type === "array" ? "[]" : "{}"} onChange={(e) => onChange(name, e.target.value)} />;
    }
    return (
      <TextField
        key={name}
        {...common}
        autoComplete="off"
        inputMode={type === "integer" || type === "number" ? "decimal" : "text"}
        placeholder={shownValue(property.examples?.[0] ?? property.default)}
        onChange={(e) => onChange(name, e.target.value)}
      />
    );
  });
}
