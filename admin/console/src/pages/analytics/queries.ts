import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "../../lib/api";
import { every } from "../../lib/live";
import type { Range, Search } from "./search";

export type Call = Schemas["LoggedCall"];
export type By = "toolset" | "tool" | "outcome" | "credential";

const EVERY = 15_000;
const PAGE = 100;

/** The width of a point: 24 to 60 of them are in a chart. */
const steps: Record<Range, string> = { "1h": "1m", "24h": "1h", "7d": "6h", "30d": "1d" };

/** Usage of a range in steps, of everything together or divided. */
export const usageOf = (range: Range, toolset: string, by?: By) =>
  queryOptions({
    queryKey: ["usage", range, toolset, by ?? ""],
    queryFn: () => unwrap(api.GET("/v1/usage", { params: { query: { range, step: steps[range], ...(by ? { by: [by] } : {}), ...(toolset ? { toolset } : {}) } } })),
    refetchInterval: every(EVERY),
  });

export const errorsOf = (range: string, toolset: string) =>
  queryOptions({
    queryKey: ["usage", "errors", range, toolset],
    queryFn: () => unwrap(api.GET("/v1/usage/errors", { params: { query: { range, ...(toolset ? { toolset } : {}) } } })),
    refetchInterval: every(EVERY),
  });

/** The parameters of the call log. */
function callFilter(s: Search) {
  return {
    range: s.range ?? "24h",
    ...(s.toolset ? { toolset: s.toolset } : {}),
    ...(s.tool ? { tool: s.tool } : {}),
    ...(s.outcome === "failed" ? { failed: true } : s.outcome ? { outcome: [s.outcome] } : {}),
    ...(s.slower ? { minMs: s.slower } : {}),
    ...(s.cause ? { cause: s.cause } : {}),
  };
}

export const callsPage = (s: Search, cursor: string, limit = PAGE) =>
  unwrap(api.GET("/v1/calls", { params: { query: { limit, ...callFilter(s), ...(cursor ? { cursor } : {}) } } }));

export const callsOf = (s: Search, live: boolean) =>
  infiniteQueryOptions({
    queryKey: ["calls", callFilter(s)],
    queryFn: ({ pageParam }) => callsPage(s, pageParam),
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: live ? every(3000) : (false as const),
    meta: { still: !live },
  });

export const callOf = (id: string) =>
  queryOptions({
    queryKey: ["call", id],
    queryFn: () => unwrap(api.GET("/v1/calls/{id}", { params: { path: { id } } })),
    enabled: id !== "",
  });
