import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, unwrap, unwrapTagged } from "./api";
import { every } from "./live";

/** One toolset, with the ETag that a change of it names. */
export const toolsetQuery = (slug: string) =>
  queryOptions({
    queryKey: ["toolset", slug],
    queryFn: () => unwrapTagged(api.GET("/v1/toolsets/{id}", { params: { path: { id: slug } } })),
  });

export const toolsetsQuery = infiniteQueryOptions({
  queryKey: ["toolsets"],
  queryFn: ({ pageParam }) => unwrap(api.GET("/v1/toolsets", { params: { query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } } })),
  initialPageParam: "",
  getNextPageParam: (page) => page.nextCursor,
});

export const toolsQuery = (slug: string) =>
  infiniteQueryOptions({
    queryKey: ["toolset", slug, "tools"],
    queryFn: ({ pageParam }) =>
      unwrap(api.GET("/v1/toolsets/{id}/tools", { params: { path: { id: slug }, query: { limit: 200, ...(pageParam ? { cursor: pageParam } : {}) } } })),
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
  });

export const revisionsQuery = (slug: string) =>
  infiniteQueryOptions({
    queryKey: ["toolset", slug, "revisions"],
    queryFn: ({ pageParam }) =>
      unwrap(api.GET("/v1/toolsets/{id}/revisions", { params: { path: { id: slug }, query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } } })),
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
  });

/** The newest revisions of all toolsets. */
export const publishedQuery = queryOptions({
  queryKey: ["toolsets", "published"],
  queryFn: () => unwrap(api.GET("/v1/revisions", { params: { query: { limit: 6 } } })),
});

/** The roll-outs of a toolset, the one that runs among them. */
export const rolloutsQuery = (slug: string) =>
  queryOptions({
    queryKey: ["toolset", slug, "rollouts"],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/rollouts", { params: { path: { id: slug } } })),
    refetchInterval: every(10_000),
  });

/** Usage of the last day, of all toolsets or of one. */
export const usageQuery = (toolset?: string) =>
  queryOptions({
    queryKey: ["usage", toolset ?? ""],
    queryFn: () => unwrap(api.GET("/v1/usage", { params: { query: { range: "24h", step: "1h", by: ["toolset"], ...(toolset ? { toolset } : {}) } } })),
    refetchInterval: every(15_000),
  });

export const openAlertsQuery = queryOptions({
  queryKey: ["alerts", "open"],
  queryFn: () => unwrap(api.GET("/v1/alerts", { params: { query: { open: true, limit: 20 } } })),
  refetchInterval: every(30_000),
});

/** Which tools of a toolset agents list, and what each way costs. */
export const selectionQuery = (slug: string) =>
  queryOptions({
    queryKey: ["toolset", slug, "selection"],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/selection", { params: { path: { id: slug } } })),
  });
