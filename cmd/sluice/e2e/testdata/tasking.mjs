// Calls tools as a client that runs what servers ask of it as tasks of its own (2025-11-25), and
// writes what it listed, was asked and was answered as JSON:
// node tasking.mjs ROOT URL. ROOT holds node_modules.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [root, url] = process.argv.slice(2);
const require = createRequire(path.join(root, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { InMemoryTaskStore } = await load("@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js");
const types = await load("@modelcontextprotocol/sdk/types.js");

const portrait = {};

// session calls both tools. end says how a task ends: with a result, failed, or cancelled by the
// client itself.
async function session(name, end, requests) {
  const store = new InMemoryTaskStore();
  const client = new Client({ name: "e2e", version: "1" }, {
    capabilities: { elicitation: { form: {} }, sampling: {}, tasks: { list: {}, cancel: {}, requests } },
    taskStore: store, defaultTaskPollInterval: 100,
  });
  const asked = [];
  const answer = (result) => async (request, extra) => {
    asked.push({ method: request.method, params: request.params });
    if (!request.params.task) return result;
    const task = await extra.taskStore.createTask({ ttl: request.params.task.ttl });
    const id = task.taskId;
    if (end === "completed") await extra.taskStore.updateTaskStatus(id, "input_required", "a person reads it");
    setTimeout(async () => {
      if (end === "completed") await store.storeTaskResult(id, "completed", result);
      else await store.updateTaskStatus(id, end, "it was " + end);
    }, 200);
    return { task };
  };
  client.setRequestHandler(types.ElicitRequestSchema, answer({ action: "accept", content: { name: "Ada", favoriteColor: "Blue", agreeToTerms: true } }));
  client.setRequestHandler(types.CreateMessageRequestSchema, answer({ role: "assistant", model: "none", content: { type: "text", text: "hi" } }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const tools = (await client.listTools()).tools.filter((t) => t.name.endsWith("-async"));
  const own = (portrait[name] = { tools: tools.map(({ name, title, description, inputSchema }) => ({ name, title, description, inputSchema })), called: {} });
  for (const t of tools) {
    const given = t.name.startsWith("trigger-sampling") ? { prompt: "say hi", maxTokens: 10 } : {};
    own.called[t.name] = await client.callTool({ name: t.name, arguments: given }, undefined, { timeout: 60000 });
  }
  own.asked = asked;
  await client.close();
}

const both = { elicitation: { create: {} }, sampling: { createMessage: {} } };
const sessions = [
  ["completed", "completed", both],
  ["failed", "failed", both],
  ["cancelled", "cancelled", both],
  ["of elicitation", "completed", { elicitation: { create: {} } }],
  ["of sampling", "completed", { sampling: { createMessage: {} } }],
  ["of nothing", "completed", {}],
];
await Promise.all(sessions.map((s) => session(...s)));
console.log(JSON.stringify(sessions.map(([name]) => [name, portrait[name]])));
process.exit(0);
