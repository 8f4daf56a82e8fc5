import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "../../lib/api";
import { every } from "../../lib/live";

export type Alert = Schemas["Alert"];
export type Channel = Schemas["Channel"];
export type Delivery = Schemas["Delivery"];
export type OwnRule = Schemas["Rule"];

const EVERY = 15_000;

/** Everything about alerts is below this key, so that a change reads all of it again. */
const key = (...more: unknown[]) => ["alerts", ...more];
export const ALERTS = key();

export const alertsQuery = (open: boolean, severity: Alert["severity"] | "") =>
  infiniteQueryOptions({
    queryKey: key("list", open, severity),
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET("/v1/alerts", {
          params: {
            query: {
              limit: 50,
              ...(open ? { open: true } : { state: ["resolved"] }),
              ...(severity ? { severity } : {}),
              ...(pageParam ? { cursor: pageParam } : {}),
            },
          },
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: every(EVERY),
  });

export const alertQuery = (id: string) =>
  queryOptions({
    queryKey: key("one", id),
    queryFn: () => unwrap(api.GET("/v1/alerts/{id}", { params: { path: { id } } })),
    refetchInterval: every(EVERY),
  });

export const channelsQuery = infiniteQueryOptions({
  queryKey: key("channels"),
  queryFn: ({ pageParam }) => unwrap(api.GET("/v1/channels", { params: { query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } } })),
  initialPageParam: "",
  getNextPageParam: (page) => page.nextCursor,
});

export const ownRulesQuery = infiniteQueryOptions({
  queryKey: key("rules"),
  queryFn: ({ pageParam }) =>
    unwrap(api.GET("/v1/alert-rules", { params: { query: { limit: 50, filter: "preset:false", ...(pageParam ? { cursor: pageParam } : {}) } } })),
  initialPageParam: "",
  getNextPageParam: (page) => page.nextCursor,
});

export interface DeliveryFilter {
  state?: Delivery["state"];
  channel?: string;
  alert?: string;
}

export const deliveriesQuery = (filter: DeliveryFilter) =>
  infiniteQueryOptions({
    queryKey: key("deliveries", filter),
    queryFn: ({ pageParam }) => unwrap(api.GET("/v1/deliveries", { params: { query: { limit: 50, ...filter, ...(pageParam ? { cursor: pageParam } : {}) } } })),
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: EVERY,
  });
