import { queryOptions, useQuery } from "@tanstack/react-query";
import { problemOf } from "./problem";
import { api, unwrap, type Schemas } from "./api";
import { can } from "./roles";

export type Session = Schemas["Session"];

/** The session of this browser; null: nobody is signed in. */
export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: async (): Promise<Session | null> => {
    const { data, error, response } = await api.GET("/v1/session");
    if (response.status === 401) return null;
    if (!response.ok || !data) throw problemOf(error, response);
    return data;
  },
  staleTime: 60_000,
});

/** Whether who is signed in has at least this role. */
export const useCan = (needed: Parameters<typeof can>[1]) => can(useQuery(sessionQuery).data?.role, needed);

export const openSession = (body: Schemas["SignIn"]) => unwrap(api.POST("/v1/session", { body }));

export const closeSession = () => unwrap(api.DELETE("/v1/session"));

/** Takes the login link out of the address, so that it stays in no history. */
export function takeLoginLink(): string {
  const match = /^#login=([A-Za-z0-9_]+)$/.exec(location.hash);
  if (!match) return "";
  history.replaceState(history.state, "", location.pathname + location.search);
  return match[1] ?? "";
}
