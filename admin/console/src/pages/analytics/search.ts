export const ranges = { "1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days", "30d": "Last 30 days" } as const;

export type Range = keyof typeof ranges;

/** What the pages of analytics show; it is in their address. */
export interface Search {
  range?: Range;
  toolset?: string;
  /** Of the call log. */
  tool?: string;
  outcome?: Outcome | "failed";
  slower?: number;
  cause?: string;
  call?: string;
}

export const outcomes = {
  ok: "OK",
  tool_error: "Tool error",
  protocol_error: "Protocol error",
  upstream_error: "Upstream error",
  timeout: "Timeout",
  denied: "Denied",
  plugin_error: "Plugin error",
  cancelled: "Cancelled",
} as const;

export type Outcome = keyof typeof outcomes;

/** Takes what is understood of an address, and drops the rest. */
export function readSearch(s: Record<string, unknown>): Search {
  const text = (value: unknown, most: number) => (typeof value === "string" && value ? value.slice(0, most) : undefined);
  const range = typeof s.range === "string" && Object.hasOwn(ranges, s.range) ? (s.range as Range) : undefined;
  const outcome = s.outcome === "failed" || (typeof s.outcome === "string" && Object.hasOwn(outcomes, s.outcome)) ? (s.outcome as Search["outcome"]) : undefined;
  const slower = Number(s.slower) > 0 ? Math.min(Math.round(Number(s.slower)), 3_600_000) : undefined;
  const found = { range, toolset: text(s.toolset, 128), tool: text(s.tool, 256), outcome, slower, cause: text(s.cause, 64), call: text(s.call, 64) };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined)) as Search;
}
