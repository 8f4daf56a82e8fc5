import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, unwrap, unwrapTagged, type Schemas } from "../../lib/api";
import { shellWord } from "../../lib/clients";
import { Problem } from "../../lib/problem";

export type Bound = Schemas["BoundPlugin"];
export type Binding = Schemas["PluginBinding"];
export type Grants = Schemas["PluginGrants"];

export const bindingsQuery = (slug: string) =>
  queryOptions({
    queryKey: ["toolset", slug, "plugins"],
    queryFn: () => unwrapTagged(api.GET("/v1/toolsets/{id}/plugins", { params: { path: { id: slug } } })),
  });

type Place = Pick<Binding, "plugin" | "connector" | "tool" | "operation">;

/** What a plugin is bound to, as the node compares it: a toolset has a plugin once at a place. */
export const placeOf = (b: Place) => [b.plugin, b.tool ?? (b.operation ? `${b.operation.method} ${b.operation.path}` : ""), b.tool || b.operation ? "" : (b.connector ?? "")].join("\n");

/** What is bound, in words. */
export const ofWhat = (b: Place) => (b.tool ? `the tool ${b.tool}` : b.operation ? `${b.operation.method} ${b.operation.path}` : b.connector ? `tools of ${b.connector}` : "all tools");

/** A binding as it is sent: without what the node adds to it. */
export function bare(b: Bound): Binding {
  const { plugin, version, connector, tool, operation, config, grants, onError, unbind, calls } = b;
  const place = tool ? { tool, connector } : operation ? { operation } : { connector };
  const all = { plugin, version, ...place, config, grants, onError, unbind, calls };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Binding;
}

/** Puts a binding where it was, or last. */
export function put(all: Binding[], b: Binding): Binding[] {
  const at = all.findIndex((other) => placeOf(other) === placeOf(b));
  return at < 0 ? [...all, b] : all.map((other, i) => (i === at ? b : other));
}

/** Moves the binding of a place up or down by one. */
export function move(all: Binding[], b: Binding, by: -1 | 1): Binding[] {
  const at = all.findIndex((other) => placeOf(other) === placeOf(b));
  const to = at + by;
  if (at < 0 || to < 0 || to >= all.length) return all;
  const next = [...all];
  next.splice(to, 0, ...next.splice(at, 1));
  return next;
}

export const without = (all: Binding[], b: Binding) => all.filter((other) => placeOf(other) !== placeOf(b));

/**
 * Changes the bindings that the node has now, whoever bound what since the page read them. What
 * changes between that and the answer is refused by the node.
 */
export function useBindings(slug: string, done: () => void = () => {}) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (change: (all: Binding[]) => Binding[]) => {
      const { data, etag } = await queries.fetchQuery({ ...bindingsQuery(slug), staleTime: 0 });
      const before = data.bindings.map(bare);
      const bindings = change(before);
      if (JSON.stringify(bindings) === JSON.stringify(before)) throw new Problem({ title: "Nothing was changed", detail: "somebody else changed these bindings meanwhile; the list shows them as they are now" });
      return unwrap(api.PUT("/v1/toolsets/{id}/plugins", { params: { path: { id: slug }, header: { "If-Match": etag } }, body: { bindings } }));
    },
    onSuccess: done,
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
}

/** The flags that name the place of a binding. */
export const placeFlags = (b: Place) => (b.tool ? ` --tool ${shellWord(b.tool)}` : b.connector ? ` --connector ${shellWord(b.connector)}` : "");

/** What was granted, as the command line writes it. */
export function grantWords(g: Grants | undefined): string {
  if (!g) return "";
  const words = [...(g.hosts ?? []).map((h) => `hosts=${h}`), ...(g.clock ? ["clock"] : []), ...(g.random ? ["random"] : []), ...(g.deadlineMs ? [`deadline=${g.deadlineMs}ms`] : [])];
  return words.join(",") || "none";
}
