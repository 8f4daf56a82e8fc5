import type { components } from "../api.gen";

export type Fault = components["schemas"]["Fault"];

/** What the admin API answered instead of a result, or that it did not answer. */
export class Problem extends Error {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly remedy: string;
  readonly code: string;
  /** Why an MCP server cannot be connected to, for programs; empty: it is another problem. */
  readonly reason: string;
  readonly requestId: string;
  readonly faults: Fault[];
  /** Seconds after which the server asks to try again. */
  readonly retryAfter: number;

  constructor(p: Partial<Omit<Problem, "name" | "message">> & { title: string }) {
    super(p.detail ? `${p.title}: ${p.detail}` : p.title);
    this.name = "Problem";
    this.status = p.status ?? 0;
    this.title = p.title;
    this.detail = p.detail ?? "";
    this.remedy = p.remedy ?? "";
    this.code = p.code ?? "";
    this.reason = p.reason ?? "";
    this.requestId = p.requestId ?? "";
    this.faults = p.faults ?? [];
    this.retryAfter = p.retryAfter ?? 0;
  }
}

/** Makes a Problem of an answer of the API that is not a success. */
export function problemOf(body: unknown, response: Response): Problem {
  const p = (typeof body === "object" && body !== null ? body : {}) as Partial<components["schemas"]["Problem"]>;
  return new Problem({
    status: response.status,
    title: p.title ?? `The node answered ${response.status}`,
    detail: p.detail,
    remedy: p.remedy,
    code: p.code,
    reason: p.reason,
    requestId: response.headers.get("X-Request-Id") ?? p.instance?.split("/").pop() ?? "",
    faults: p.errors ?? [],
    retryAfter: Number(response.headers.get("Retry-After")) || 0,
  });
}

/** Makes a Problem of whatever was thrown. */
export function asProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (thrown instanceof TypeError) {
    return new Problem({
      title: "The node does not answer",
      detail: "The connection failed or was closed.",
      remedy: "See whether the node still runs, then try again.",
    });
  }
  return new Problem({ title: "The console made a mistake", detail: thrown instanceof Error ? thrown.message : String(thrown) });
}

/** What an answer says is wrong with one field of what was sent, by its JSON pointer. */
export function faultAt(thrown: unknown, pointer: string): string | undefined {
  if (!(thrown instanceof Problem)) return undefined;
  const place = `body${pointer.replaceAll("/", ".")}`;
  return thrown.faults.find((f) => f.pointer === `#${pointer}` || f.pointer?.startsWith(`#${pointer}/`) || f.location === place)?.detail;
}
