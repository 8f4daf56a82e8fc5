import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Save } from "../../components/saveform";
import { api, unwrap, type Schemas } from "../../lib/api";
import type { Edits } from "../../lib/edits";

/** Changes the draft of a toolset by what was entered in a form. */
export function usePatch<T extends object>(slug: string, edits: Edits<T>, patchOf: (part: Partial<T>) => Schemas["PatchToolset"]) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ match, part }: Save<T>) =>
      unwrap(
        api.PATCH("/v1/toolsets/{id}", {
          params: { path: { id: slug }, header: { "If-Match": match } },
          body: patchOf(part),
          headers: { "Content-Type": "application/merge-patch+json" },
        }),
      ),
    onSettled: async (_, error, { part }) => {
      await queries.invalidateQueries({ queryKey: ["toolset", slug] });
      if (!error) edits.saved(part);
    },
  });
}
