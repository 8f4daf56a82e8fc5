import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "../../lib/api";

export type Entry = Schemas["EntryDetail"];
export type Outline = Schemas["EntryOutline"];
export type Request = Schemas["Request"];
export type RequestState = Request["state"];

export const REQUESTS = ["connector-requests"];

export interface Filter {
  q?: string;
  category?: string;
  kind?: Outline["kind"];
}

export const entriesQuery = (filter: Filter) =>
  queryOptions({
    queryKey: ["catalog", filter],
    queryFn: () => unwrap(api.GET("/v1/catalog", { params: { query: filter } })),
    placeholderData: (before) => before,
  });

export const entryQuery = (id: string) =>
  queryOptions({
    queryKey: ["catalog", "entry", id],
    queryFn: () => unwrap(api.GET("/v1/catalog/{id}", { params: { path: { id } } })),
  });

export const requestsQuery = (state: RequestState | "") =>
  infiniteQueryOptions({
    queryKey: [...REQUESTS, state],
    queryFn: ({ pageParam }) =>
      unwrap(api.GET("/v1/connector-requests", { params: { query: { limit: 50, ...(state ? { state: [state] } : {}), ...(pageParam ? { cursor: pageParam } : {}) } } })),
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
  });

export const similarQuery = (wish: { serviceName: string; website: string; useCase: string }) =>
  queryOptions({
    queryKey: [...REQUESTS, "similar", wish],
    queryFn: () => unwrap(api.GET("/v1/connector-requests/similar", { params: { query: wish } })),
    enabled: wish.serviceName.length > 1 || wish.website.length > 3,
    placeholderData: (before) => before,
  });
