import { QueryCache, QueryClient } from "@tanstack/react-query";
import { Problem } from "./problem";

/** What may be over in a moment: no answer, an ended session, too many requests, a node that starts. */
const passes = (error: unknown) => !(error instanceof Problem) || [401, 429, 502, 503, 504].includes(error.status);

export const makeQueries = () =>
  new QueryClient({
    queryCache: new QueryCache({
      // What was read stays on the page, and so does the form that stands upon it, when it cannot be read again now.
      onError: (error, query) => {
        if (query.state.data !== undefined && passes(error)) query.setState({ status: "success", error: null });
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        // What the node refused stays refused; a lost connection may come back.
        // A cancelled request was not refused: it is asked again.
        retry: (failures, error) => failures < 2 && (!(error instanceof Problem) || error.code === "cancelled"),
        // The node may be on this machine: a browser that is off line reaches it.
        networkMode: "always",
      },
      mutations: { networkMode: "always" },
    },
  });
