/** A schema of the document (JSON Schema 2020-12), as far as the admin API uses it. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  examples?: unknown[];
  default?: unknown;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  readOnly?: boolean;
  writeOnly?: boolean;
  contentMediaType?: string;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header" | "cookie";
  description?: string;
  required?: boolean;
  example?: unknown;
  schema: Schema;
}

interface Body {
  schema?: Schema;
}

interface Answer {
  description: string;
  content?: Record<string, Body>;
  headers?: Record<string, { description?: string }>;
}

interface Described {
  operationId: string;
  summary: string;
  description?: string;
  tags?: string[];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, Body> };
  responses: Record<string, Answer>;
  "x-sluice-role"?: string;
}

/** What the node says of its own API at /v1/openapi.json. */
export interface ApiDocument {
  info: { title: string; description?: string; version: string };
  tags?: { name: string; description?: string }[];
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, Schema> };
}

export interface Operation extends Described {
  method: string;
  path: string;
  tag: string;
}

const methods = ["get", "post", "put", "patch", "delete"];

/** The operations in the order of their paths; of one path, what reads comes first. */
export const operationsOf = (doc: ApiDocument): Operation[] =>
  Object.entries(doc.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const o = item[method];
      return o ? [{ ...o, method: method.toUpperCase(), path, tag: o.tags?.[0] ?? "" }] : [];
    }),
  );

/** The operations that have all words of a text somewhere in what names them. */
export function search(operations: Operation[], text: string): Operation[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return operations.filter((o) => {
    const all = `${o.method} ${o.path} ${o.summary} ${o.operationId} ${o.tag} ${o.description ?? ""}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** References that lead to references: the API has none of two, a document could have a circle. */
const maxReferences = 8;

/** A schema with what it refers to, and the name of that. */
export function resolve(doc: ApiDocument, schema: Schema): { name: string; schema: Schema } {
  let name = "";
  let at = schema;
  for (let i = 0; i < maxReferences && at.$ref; i++) {
    name = at.$ref.replace("#/components/schemas/", "");
    const { $ref: _, ...beside } = at;
    at = { ...doc.components.schemas[name], ...beside };
  }
  return { name, schema: at };
}

/** The whole description without what the summary, or the role beside it, says too. */
export const descriptionOf = (o: Operation) => {
  const text = (o.description ?? "").replace(/ ?Needs the role \w+\.$/, "");
  return text.replace(/\.$/, "") === o.summary ? "" : text;
};

/** What a schema is, in words: "text, at most 64 characters". */
export function typeOf(doc: ApiDocument, schema: Schema): string {
  const { name, schema: s } = resolve(doc, schema);
  const type = Array.isArray(s.type) ? s.type.filter((t) => t !== "null")[0] : s.type;
  if (type === "array") return `list of ${s.items ? typeOf(doc, s.items) : "anything"}`;
  if (s.oneOf ?? s.anyOf) return (s.oneOf ?? s.anyOf ?? []).map((one) => typeOf(doc, one)).join(" or ");
  if (type === "object" || s.properties) {
    const values = typeof s.additionalProperties === "object" ? s.additionalProperties : undefined;
    return name || (values && !s.properties ? `object of ${typeOf(doc, values)}` : "object");
  }
  if (s.format === "binary") return "file";
  const formats: Record<string, string> = { "date-time": "time (RFC 3339)", uri: "URL", email: "e-mail address" };
  const words: Record<string, string> = { string: formats[s.format ?? ""] ?? "text", integer: "whole number", number: "number", boolean: "true or false" };
  return words[type ?? ""] ?? "anything";
}

/** What a value must keep to, in words. */
export function limitsOf(s: Schema): string {
  const range = (low: number | undefined, high: number | undefined, unit: string) =>
    low !== undefined && high !== undefined ? `${low} to ${high}${unit}` : high !== undefined ? `at most ${high}${unit}` : low !== undefined ? `at least ${low}${unit}` : "";
  return [
    range(s.minimum, s.maximum, ""),
    range(s.minLength, s.maxLength, " characters"),
    range(s.minItems, s.maxItems, " items"),
    s.pattern ? `matches ${s.pattern}` : "",
    s.default !== undefined ? `default ${JSON.stringify(s.default)}` : "",
    s.readOnly ? "read only" : "",
    s.writeOnly ? "never answered" : "",
  ].filter((part) => part !== "").join(" · ");
}

/** How deep examples and trees of schemas go: the API nests seven, and its workflows nest in themselves. */
export const maxDepth = 10;

export interface SampleOptions {
  /** request leaves out what is read only, answer what is never answered. */
  of: "request" | "answer";
  /** Only what must be there. */
  required?: boolean;
}

/** A value that a schema allows, made of the examples in it. */
export function sample(doc: ApiDocument, schema: Schema, options: SampleOptions, depth = 0): unknown {
  const { schema: s } = resolve(doc, schema);
  const first = (s.oneOf ?? s.anyOf ?? s.allOf)?.[0];
  if (s.properties) {
    if (depth >= maxDepth) return {};
    const left = (p: Schema) => (options.of === "request" ? p.readOnly : p.writeOnly);
    const members = Object.entries(s.properties).filter(([name, p]) => !left(p) && (!options.required || s.required?.includes(name)));
    return Object.fromEntries(members.map(([name, p]) => [name, sample(doc, p, options, depth + 1)]));
  }
  if (s.examples?.length) return s.examples[0];
  if (s.default !== undefined) return s.default;
  if (s.enum?.length) return s.enum[0];
  if (first) return sample(doc, first, options, depth + 1);
  const type = Array.isArray(s.type) ? s.type[0] : s.type;
  if (type === "array") return s.items && depth < maxDepth && !options.required ? [sample(doc, s.items, options, depth + 1)] : [];
  if (type === "object") return {};
  if (type === "integer" || type === "number") return s.minimum ?? 0;
  if (type === "boolean") return false;
  return type === "string" ? "" : null;
}

/** Where the ETag of what an operation changes is read: the nearest path above it whose answer has one. */
export function etagSource(doc: ApiDocument, operation: Operation): string | undefined {
  if (!operation.parameters?.some((p) => p.in === "header" && p.name === "If-Match")) return undefined;
  for (let path = operation.path; path.lastIndexOf("/") > 0; path = path.slice(0, path.lastIndexOf("/"))) {
    if (doc.paths[path]?.get?.responses["200"]?.headers?.ETag) return path;
  }
  return undefined;
}
