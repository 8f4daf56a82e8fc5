import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Button } from "../../components/button";
import { Switch } from "../../components/choices";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, unwrap, type Schemas } from "../../lib/api";
import { count } from "../../lib/format";
import { toolsetQuery } from "../../lib/queries";

type Item = Schemas["Item"];

const kinds = { prompt: "Prompt", resource: "Resource", resourceTemplate: "Resource template" } as const;

/** What a server has besides tools, to be chosen. Each change is kept on the node at once. */
export function ItemChoice({ slug }: { slug: string }) {
  const queries = useQueryClient();
  const items = useInfiniteQuery({
    queryKey: ["toolset", slug, "items"],
    queryFn: ({ pageParam }) => unwrap(api.GET("/v1/toolsets/{id}/items", { params: { path: { id: slug }, query: { limit: 200, ...(pageParam ? { cursor: pageParam } : {}) } } })),
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
  });
  const change = useMutation({
    mutationFn: async (updates: Schemas["ItemUpdate"][]) => {
      const { etag } = await queries.fetchQuery({ ...toolsetQuery(slug), staleTime: 0 });
      return unwrap(api.POST("/v1/toolsets/{id}/items/batch-update", { params: { path: { id: slug }, header: { "If-Match": etag } }, body: { updates } }));
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug] }),
  });
  if (items.isError) return <ProblemNote error={items.error} retry={() => void items.refetch()} />;
  const all = items.data?.pages.flatMap((p) => p.items) ?? [];
  if (all.length === 0) return null;
  const to = (it: Item, enabled: boolean) => ({ kind: it.kind, key: it.key, ...(it.connector ? { connector: it.connector } : {}), enabled });
  return (
    <Card title="Prompts and resources" actions={<span role="status" className="text-muted tabular-nums">{count(all.filter((i) => i.enabled).length)} of {count(all.length)} chosen</span>}>
      <ul className="max-h-80 overflow-y-auto" tabIndex={0} aria-label="Prompts and resources to choose from">
        {all.map((it) => (
          <li key={`${it.kind} ${it.key}`}>
            <Switch label={it.name || it.key} note={`${kinds[it.kind]}${it.description ? `: ${it.description}` : ""}`} checked={it.enabled} onChecked={(on) => change.mutate([to(it, on)])} />
          </li>
        ))}
      </ul>
      {items.hasNextPage ? (
        <div className="mt-2">
          <Button busy={items.isFetchingNextPage} onClick={() => void items.fetchNextPage()}>
            Show more
          </Button>
        </div>
      ) : null}
      {change.isError ? (
        <div className="mt-3">
          <ProblemNote error={change.error} />
        </div>
      ) : null}
    </Card>
  );
}
