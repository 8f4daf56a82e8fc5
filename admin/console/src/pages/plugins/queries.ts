import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "../../lib/api";

export type Plugin = Schemas["Plugin"];
export type Version = Schemas["PluginVersion"];

export const PLUGINS = ["plugins"];

export const pluginsQuery = infiniteQueryOptions({
  queryKey: [...PLUGINS, "list"],
  queryFn: ({ pageParam }) => unwrap(api.GET("/v1/plugins", { params: { query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } } })),
  initialPageParam: "",
  getNextPageParam: (page) => page.nextCursor,
});

export const pluginQuery = (name: string) =>
  queryOptions({
    queryKey: [...PLUGINS, name],
    queryFn: () => unwrap(api.GET("/v1/plugins/{name}", { params: { path: { name } } })),
  });

/** A version with the toolsets that bind it, which the list of versions leaves out. */
export const versionQuery = (name: string, version: string) =>
  queryOptions({
    queryKey: [...PLUGINS, name, version],
    queryFn: () => unwrap(api.GET("/v1/plugins/{name}/versions/{version}", { params: { path: { name, version } } })),
    enabled: version !== "",
  });
