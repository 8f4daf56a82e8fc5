import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** An MCP server with one tool, until it is closed. */
export function mcpServer() {
  const result = (method: string) =>
    method === "initialize"
      ? { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "Fading", version: "1" } }
      : method === "tools/list"
        ? { tools: [{ name: "fade", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }] }
        : method === "tools/call"
          ? { content: [{ type: "text", text: "it fades" }] }
          : undefined;
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += String(part)));
    request.on("end", () => {
      const message = JSON.parse(body || "{}") as { id?: number; method?: string };
      if (request.method !== "POST") return void response.writeHead(405).end();
      if (message.id === undefined) return void response.writeHead(202).end();
      const answer = result(message.method ?? "");
      response.writeHead(200, { "Content-Type": "application/json", Connection: "close" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...(answer ? { result: answer } : { error: { code: -32601, message: "unknown" } }) }));
    });
  });
  return new Promise<{ url: string; close: () => Promise<unknown> }>((begun) => {
    server.listen(0, "127.0.0.2", () => begun({ url: `http://127.0.0.2:${(server.address() as AddressInfo).port}/mcp`, close: () => new Promise((done) => server.close(done)) }));
  });
}
