// Uses a toolset URL as an AI application does, with the official client of an era:
// node client.mjs ROOT legacy|modern URL. ROOT holds node_modules. It writes "done"
// at its end, and the first thing that is wrong otherwise.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [root, era, url] = process.argv.slice(2);
const require = createRequire(path.join(root, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const check = (ok, what, got) => {
  if (!ok) {
    console.error(`${era}: ${what}:`, JSON.stringify(got));
    process.exit(1);
  }
};

async function open() {
  if (era === "legacy") {
    const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const client = new Client({ name: "e2e", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return { client, call: (params, options) => client.callTool(params, undefined, options) };
  }
  const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
  const client = new Client({ name: "e2e", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return { client, call: (params, options) => client.callTool(params, options) };
}

let { client, call } = await open();
const tools = (await client.listTools()).tools.map((t) => t.name);
check(tools.includes("echo") && tools.includes("test_image_content"), "tools", tools);

let r = await call({ name: "echo", arguments: { word: "héllo" } });
check(!r.isError && r.content[0].text.includes("héllo"), "call", r);
r = await call({ name: "test_image_content", arguments: {} });
check(r.content[0].type === "image" && r.content[0].mimeType === "image/png", "image", r);

r = await call({ name: "test_error_handling", arguments: {} });
check(r.isError === true && r.content[0].text.includes("intentionally"), "tool error", r);
r = await call({ name: "echo", arguments: {} });
check(r.isError === true && r.content[0].text.includes("word"), "wrong arguments", r);
let refused;
try {
  refused = await call({ name: "nope", arguments: {} });
} catch (e) {
  refused = String(e);
}
check(typeof refused === "string" && refused.includes("unknown tool"), "unknown tool", refused);

const heard = [];
r = await call({ name: "test_slow", arguments: {} }, { onprogress: (p) => heard.push(p) });
check(!r.isError && heard.length > 0 && heard[0].progress >= 1, "progress", { heard, r });

const abort = new AbortController();
setTimeout(() => abort.abort("enough"), 300);
let cancelled = false;
try {
  await call({ name: "test_slow", arguments: {} }, { signal: abort.signal });
} catch {
  cancelled = true;
}
check(cancelled, "cancellation", null);

// The same client goes on, and so does a new one.
r = await call({ name: "echo", arguments: { word: "again" } });
check(r.content[0].text.includes("again"), "call after a cancellation", r);
await client.close();
({ client, call } = await open());
r = await call({ name: "echo", arguments: { word: "back" } });
check(r.content[0].text.includes("back"), "call after a reconnect", r);
await client.close();
console.log("done");
process.exit(0);
