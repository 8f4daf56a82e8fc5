import createClient from "openapi-fetch";
import type { components, paths } from "../api.gen";
import { send } from "./connection";
import { problemOf } from "./problem";

export type Schemas = components["schemas"];

/** The session ended, or there is none: the sign-in form is shown over the page. */
export const SIGNED_OUT = "sluice:signed-out";

const client = createClient<paths>({
  baseUrl: location.origin,
  fetch: send,
});

client.use({
  onResponse({ response, request }) {
    if (response.status === 401 && !new URL(request.url).pathname.startsWith("/v1/session")) {
      dispatchEvent(new Event(SIGNED_OUT));
    }
  },
});

export const api = client;

/** The data of an answer, or the problem that it reports. */
export async function unwrap<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call;
  if (!response.ok) throw problemOf(error, response);
  return data as T;
}

/** The data of an answer and its ETag, which a later change names. */
export async function unwrapTagged<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<{ data: T; etag: string }> {
  const answer = await call;
  const data = await unwrap(Promise.resolve(answer));
  return { data, etag: answer.response.headers.get("ETag") ?? "*" };
}
