// Does the main path with a client whose types openapi-typescript generated into
// admin.ts beside it: main-path.js URL TOKEN SPECIFICATION KEY. It writes "done" at its
// end, and the first thing that is wrong otherwise. The compiler checks every request
// and every answer that is read against the document.
import { readFileSync } from "node:fs";
import createClient from "openapi-fetch";
import type { components, paths } from "./admin.js";

type Problem = components["schemas"]["Problem"];

const [url, token, specification, key] = process.argv.slice(2) as [string, string, string, string];
const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });

function check(ok: boolean, what: string, got: unknown): asserts ok {
  if (!ok) {
    console.error(`${what}: ${JSON.stringify(got)}`);
    process.exit(1);
  }
}

// good returns the data of an answer, which must be no problem.
function good<T>(what: string, answer: { data?: T; error?: Problem; response: Response }, status = 200): T {
  check(answer.error === undefined && answer.response.status === status, what, [answer.response.status, answer.error]);
  return answer.data as T;
}

// problem returns the problem that an answer must be.
function problem(what: string, answer: { error?: Problem; response: Response }, status: number): Problem {
  check(answer.error !== undefined && answer.response.status === status && answer.error.status === status, what, [answer.response.status, answer.error]);
  return answer.error;
}

const document = readFileSync(specification, "utf8");
const made = good(
  "create",
  await client.POST("/v1/toolsets", {
    body: { slug: "typescript", source: { openapi: { document, fileName: "notes.yaml" } }, deploy: { skip: true } },
  }),
  201,
);
check("toolCount" in made && made.status === "draft" && made.toolCount === 2, "created", made);
const params = { path: { id: made.id } };

// Without a credential the API refuses the test, and nothing is deployed.
const refused = good("test without a key", await client.POST("/v1/toolsets/{id}/test", { params, body: { tool: "list_notes" } }));
check("passed" in refused && !refused.passed && refused.upstreamStatus === 401, "test without a key", refused);

good("set authentication", await client.PUT("/v1/toolsets/{id}/authentication", { params, body: { authType: "header", headerName: "X-Key", apiKey: key } }));
const kept = good("authentication", await client.GET("/v1/toolsets/{id}/authentication", { params }));
check(kept.apiKeyLast4 === key.slice(-4) && !JSON.stringify(kept).includes(key), "authentication", kept);

const tested = good("test", await client.POST("/v1/toolsets/{id}/test", { params, body: { tool: "list_notes", keepDraft: true } }));
check("passed" in tested && tested.passed && tested.upstreamStatus === 200 && !tested.deployed, "test", tested);
const live = good("deploy", await client.POST("/v1/toolsets/{id}/deploy", { params, body: {} }));
check(live.status === "live" && live.revision === 1, "deploy", live);

const listed = good("list", await client.GET("/v1/toolsets", { params: { query: { q: "typescript" } } }));
check(listed.items.some((t) => t.slug === "typescript" && t.url === live.url), "list", listed);
const page = good("tools", await client.GET("/v1/toolsets/{id}/tools", { params: { ...params, query: { limit: 1 } } }));
check(page.items.length === 1, "a page of tools", page);
const patched = good(
  "patch",
  await client.PATCH("/v1/toolsets/{id}/tools/{name}", {
    params: { path: { id: made.id, name: "add_note" } },
    body: { title: "Write a note" },
    headers: { "Content-Type": "application/merge-patch+json" },
  }),
);
check(patched.title === "Write a note", "patch", patched);

const called = await fetch(live.url, {
  method: "POST",
  headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25" },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_notes", arguments: { limit: 2 } } }),
});
const text = await called.text();
check(called.status === 200 && text.includes("first note"), "call", [called.status, text]);

// The gateway reports its counters every few seconds.
let usage, calls;
for (let i = 0; i < 150; i++) {
  usage = good("usage", await client.GET("/v1/usage", { params: { query: { toolset: "typescript", range: "1h" } } }));
  calls = good("calls", await client.GET("/v1/calls", { params: { query: { toolset: "typescript" } } })).items;
  if (usage.totals.calls > 0 && calls.length > 0) break;
  await new Promise((resolve) => setTimeout(resolve, 200));
}
check(usage?.totals.calls === 1 && usage.totals.errors === 0 && usage.totals.tokensBefore > 0, "usage", usage);
check(calls?.[0]?.tool === "list_notes", "calls", calls);

const absent = problem("absent", await client.GET("/v1/toolsets/{id}", { params: { path: { id: "no-such-toolset" } } }), 404);
check(absent.code === "not_found", "absent", absent);
problem("a delete of another state", await client.DELETE("/v1/toolsets/{id}", { params: { ...params, header: { "If-Match": '"of-another-time"' } } }), 412);
const etag = (await client.GET("/v1/toolsets/{id}", { params })).response.headers.get("ETag") ?? "";
good("delete", await client.DELETE("/v1/toolsets/{id}", { params: { ...params, header: { "If-Match": etag } } }), 204);
problem("deleted", await client.GET("/v1/toolsets/{id}", { params }), 404);
console.log("done");
