import { QueryObserver } from "@tanstack/react-query";
import { expect, it } from "vitest";
import { Problem } from "./problem";
import { makeQueries } from "./queryclient";

it.each([
  { thrown: new TypeError("Failed to fetch"), status: "success" },
  { thrown: new Problem({ title: "Not signed in", status: 401 }), status: "success" },
  { thrown: new Problem({ title: "Not found", status: 404 }), status: "error" },
  { thrown: new Problem({ title: "Internal error", status: 500 }), status: "error" },
])("what was read is $status after $thrown.message", async ({ thrown, status }) => {
  const queries = makeQueries();
  let fails = false;
  const observer = new QueryObserver(queries, { queryKey: ["one"], queryFn: () => (fails ? Promise.reject(thrown) : Promise.resolve("read")), retry: false });
  const stop = observer.subscribe(() => undefined);
  await observer.refetch();
  fails = true;
  await observer.refetch();
  expect(observer.getCurrentResult()).toMatchObject({ status, data: "read" });
  stop();
});

it("what was never read is an error without the node", async () => {
  const observer = new QueryObserver(makeQueries(), { queryKey: ["one"], queryFn: () => Promise.reject(new TypeError("Failed to fetch")), retry: false });
  const stop = observer.subscribe(() => undefined);
  await observer.refetch();
  expect(observer.getCurrentResult().status).toBe("error");
  stop();
});

it.each([
  { code: "cancelled", asked: 2 },
  { code: "internal", asked: 1 },
])("a request that ended as $code is asked $asked time(s)", async ({ code, asked }) => {
  let n = 0;
  const answer = () => (++n === 1 ? Promise.reject(new Problem({ title: code, status: 499, code })) : Promise.resolve("read"));
  await makeQueries().fetchQuery({ queryKey: [code], queryFn: answer, retryDelay: 0 }).catch(() => undefined);
  expect(n).toBe(asked);
});
