import { shellWord } from "../../lib/clients";
import { send as ask } from "../../lib/connection";
import type { Operation, Parameter } from "./document";

/** A request as it is sent, and as curl would send it. */
export interface Prepared {
  method: string;
  /** With its query. */
  path: string;
  headers: Record<string, string>;
  body?: string | FormData;
}

/** The parameters that are entered: browsers send cookies and their own name themselves. */
export const entered = (o: Operation): Parameter[] => (o.parameters ?? []).filter((p) => p.in !== "cookie" && p.name !== "User-Agent");

export const keyOf = (p: Parameter) => `${p.in} ${p.name}`;

/** What must be there and is not. */
export const missing = (o: Operation, values: Record<string, string>) => entered(o).filter((p) => p.required && !values[keyOf(p)]);

/** A path whose places are filled in; places that are not stay as they are. */
export const fillPath = (path: string, values: Record<string, string>) =>
  path.replace(/\{([^}]+)\}/g, (place, name: string) => {
    const value = values[`path ${name}`];
    return value ? encodeURIComponent(value) : place;
  });

/** The content type that a body is sent as: JSON where there is a choice. */
export const bodyType = (o: Operation) => {
  const types = Object.keys(o.requestBody?.content ?? {});
  return types.find((t) => t.includes("json")) ?? types[0] ?? "";
};

export function prepare(o: Operation, values: Record<string, string>, body: string | FormData | undefined): Prepared {
  const given = entered(o).filter((p) => values[keyOf(p)]);
  const query = given.filter((p) => p.in === "query").map((p) => `${encodeURIComponent(p.name)}=${encodeURIComponent(values[keyOf(p)] ?? "")}`);
  const headers = Object.fromEntries(given.filter((p) => p.in === "header").map((p) => [p.name, values[keyOf(p)] ?? ""]));
  const type = bodyType(o);
  return {
    method: o.method,
    path: fillPath(o.path, values) + (query.length > 0 ? `?${query.join("&")}` : ""),
    headers: typeof body === "string" && body !== "" ? { ...headers, "Content-Type": type } : headers,
    ...(body === undefined || body === "" ? {} : { body }),
  };
}

/** The same request in a terminal, with an API token in the variable SLUICE_TOKEN. */
export function curl(r: Prepared, origin: string): string {
  const parts = ["curl"];
  if (r.method !== "GET") parts.push(`-X ${r.method}`);
  parts.push(shellWord(origin + r.path), `-H "Authorization: Bearer $SLUICE_TOKEN"`);
  for (const [name, value] of Object.entries(r.headers)) parts.push(`-H ${shellWord(`${name}: ${value}`)}`);
  if (typeof r.body === "string") parts.push(`-d ${shellWord(r.body)}`);
  else if (r.body) for (const [name, value] of r.body) parts.push(`-F ${shellWord(`${name}=${value instanceof File ? `@${value.name}` : value}`)}`);
  return parts.join(" ");
}

/** How much of an answer is shown: more than that is looked at elsewhere. */
export const maxShown = 256 * 1024;

export interface Answered {
  status: number;
  milliseconds: number;
  headers: [string, string][];
  text: string;
  /** There was more than is shown. */
  cut: boolean;
  /** It is not all there yet. */
  open: boolean;
}

const told = ["content-type", "etag", "location", "link", "retry-after", "x-request-id", "idempotent-replayed", "deprecation"];

/** Sends a request with the session of the browser, and reports its answer while it comes. What came until it was stopped is the answer. */
export async function send(r: Prepared, signal: AbortSignal, onAnswer: (a: Answered) => void): Promise<Response> {
  const began = performance.now();
  const response = await ask(new Request(r.path, { method: r.method, headers: r.headers, signal, ...(r.body === undefined ? {} : { body: r.body }) }));
  const headers = [...response.headers].filter(([name]) => told.includes(name));
  const json = /json/.test(response.headers.get("Content-Type") ?? "");
  const tell = (text: string, cut: boolean, open: boolean) =>
    onAnswer({ status: response.status, milliseconds: performance.now() - began, headers, text: json && !open && !cut ? indented(text) : text, cut, open });
  let text = "";
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    tell(text, false, true);
    let part: { done: boolean; value?: Uint8Array } = { done: true };
    try {
      part = (await reader?.read()) ?? part;
    } catch (e) {
      if (!signal.aborted) throw e;
    }
    text += decoder.decode(part.value, { stream: !part.done });
    if (text.length > maxShown) {
      await reader?.cancel().catch(() => undefined);
      tell(text.slice(0, maxShown), true, false);
      return response;
    }
    if (part.done) break;
  }
  tell(text, false, false);
  return response;
}

export function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
