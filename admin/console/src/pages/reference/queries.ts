import { queryOptions } from "@tanstack/react-query";
import { send } from "../../lib/connection";
import { problemOf } from "../../lib/problem";
import type { ApiDocument } from "./document";

/** The document of the API, as the node that is asked serves it. */
export const documentQuery = queryOptions({
  queryKey: ["openapi"],
  queryFn: async (): Promise<ApiDocument> => {
    const response = await send(new Request("/v1/openapi.json"));
    if (!response.ok) throw problemOf(await response.json().catch(() => undefined), response);
    return (await response.json()) as ApiDocument;
  },
  staleTime: Infinity,
});
