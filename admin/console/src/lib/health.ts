import { queryOptions } from "@tanstack/react-query";

export interface HealthCheck {
  state: "ok" | "attention" | "failed";
  name: string;
  detail: string;
}

const states: Record<string, HealthCheck["state"]> = { "+": "ok", "!": "attention", "-": "failed" };

/** Reads what /readyz?verbose says: a line for each check, as Kubernetes writes them. */
export function readHealth(text: string): HealthCheck[] {
  return text.split("\n").flatMap((line) => {
    const match = /^\[([+!-])\](data directory|open files|shared state|\S+) (.*)$/.exec(line);
    const state = states[match?.[1] ?? ""];
    return state ? [{ state, name: match?.[2] ?? "", detail: match?.[3] ?? "" }] : [];
  });
}

/** The worst of some checks. */
export const worstOf = (checks: HealthCheck[]): HealthCheck["state"] =>
  (["failed", "attention"] as const).find((state) => checks.some((c) => c.state === state)) ?? "ok";

/** Whether the node can serve, and what its checks found. */
export const healthQuery = queryOptions({
  queryKey: ["health"],
  queryFn: async () => {
    // Not as the API is asked: 503 is an answer, and the session does not live longer by it.
    const response = await fetch("/readyz?verbose", { credentials: "omit", cache: "no-store" });
    return readHealth(await response.text());
  },
  refetchInterval: 30_000,
});
