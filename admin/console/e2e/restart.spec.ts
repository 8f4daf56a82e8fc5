import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { expect, expectAccessibleEverywhere, test } from "./fixture";
import { mcpServer } from "./mcpserver";

// A node of its own, which is stopped and started again: SLUICE_E2E_OTHER is how.
const command = JSON.parse(process.env.SLUICE_E2E_OTHER ?? '["","127.0.0.1:1"]') as [string, string, ...string[]];
const [binary, admin, ...args] = command;
const address = `http://${admin}`;

test.use({ baseURL: address, storageState: { cookies: [], origins: [] } });

let node: ChildProcess | undefined;
let written = "";

async function start() {
  const began = spawn(binary, args, { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [began.stdout, began.stderr]) stream.on("data", (part: Buffer) => (written += part.toString()));
  node = began;
  await expect.poll(() => fetch(`${address}/readyz`).then((r) => r.status, () => 0), { intervals: [50] }).toBe(200);
}

async function stop() {
  const ended = node;
  node = undefined;
  if (!ended || ended.exitCode !== null) return;
  ended.kill("SIGTERM");
  await once(ended, "exit");
}

test.afterAll(stop);

const flag = (name: string) => args[args.indexOf(name) + 1] ?? "";
const api = process.env.SLUICE_E2E_API ?? "";

/** An entry of the catalog, which the node reads when it starts. */
function entry(tool: string, description: string) {
  mkdirSync(flag("--catalog"), { recursive: true });
  writeFileSync(
    `${flag("--catalog")}/shelf.yaml`,
    `formatVersion: 1
id: shelf
name: Shelf
category: data
summary: A shelf of things.
homepage: https://shelf.example.com
documentation: https://shelf.example.com/docs
source:
  openapi: {url: "https://shelf.example.com/openapi.json", found: on its page}
base: {url: "https://api.shelf.example.com"}
authentication: []
tools:
  - operation: GET /things
    name: ${tool}
    description: ${description}
`,
  );
}

const sluice = (...of: string[]) => execFileSync(binary, [...of, "--server", address, "--token-file", `${flag("--data")}/admin.token`, "--no-input"], { stdio: "pipe" });

test("a node that stops and starts again costs nothing that was typed", async ({ page, context }) => {
  test.setTimeout(240_000);
  entry("list_things", "Lists the things.");
  await start();
  sluice("catalog", "add", "shelf", "--url", `${api}/openapi.yaml`, "--base-url", `${api}/open`);
  const link = /http:\S+\/#login=\w+/.exec(written)?.[0] ?? "";
  await page.goto(link);
  await expect(page.getByRole("heading", { level: 1, name: "Home" })).toBeVisible();
  const fading = await mcpServer();
  const made = await page.request.post("/v1/toolsets", { headers: { "Sec-Fetch-Site": "same-origin" }, data: { name: "Fading", source: { mcp: { url: fading.url } }, test: { tool: "fade" }, deploy: {} } });
  expect(made.status(), await made.text()).toBe(201);
  expect(((await made.json()) as { status: string }).status).toBe("live");
  await page.goto("/toolsets/demo/settings");
  await page.getByLabel("Description").fill("Typed before the node went");
  const other = await context.newPage();
  await other.goto("/toolsets");
  await expect(other.getByRole("heading", { level: 1, name: "Toolsets" })).toBeVisible();

  await stop();
  await fading.close();
  await page.bringToFront(); // What is behind another window is painted late.
  await page.getByRole("button", { name: "Save", exact: true }).first().click();
  await expect(page.getByRole("alert")).toContainText("The node does not answer");
  const bar = page.getByRole("complementary", { name: "Connection" });
  await expect(bar).toContainText("What you entered stays on the page");
  await expectAccessibleEverywhere(page, "connection");
  await bar.getByRole("button", { name: "Try now" }).click();
  await expect(bar.getByRole("button", { name: "Try now" })).toBeEnabled();
  await expect(page.getByLabel("Description")).toHaveValue("Typed before the node went");
  // A page whose files are not loaded yet waits for the node; the one before it stays.
  await other.getByRole("link", { name: "Plugins" }).click();
  await expect(other.getByRole("complementary", { name: "Connection" })).toBeVisible();
  await expect(other.getByRole("heading", { level: 1, name: "Toolsets" })).toBeVisible();

  entry("list_things", "Lists the things, the newest first.");
  await start();
  await expect(bar).toHaveCount(0); // By itself.
  await expect(page.getByLabel("Description")).toHaveValue("Typed before the node went");
  await page.getByRole("button", { name: "Save", exact: true }).first().click();
  await expect(page.getByText("Saved.").or(page.getByText("Saved in the draft.")).first()).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Description")).toHaveValue("Typed before the node went");
  await expect(other.getByRole("heading", { level: 1, name: "Plugins" })).toBeVisible();
  await other.close();

  // What starts has a newer catalog.
  await page.goto("/catalog/shelf");
  await expect(page.getByText("Update waits")).toBeVisible();
  await page.getByRole("link", { name: "shelf", exact: true }).click();
  await page.getByRole("button", { name: "Show what changes" }).click();
  await expect(page.getByText("0 tools added, 0 removed, 1 changed. 0 breaking, 0 safe, 1 in wording alone.")).toBeVisible();
  await expect(page.getByText("Lists the things, the newest first.")).toBeVisible();
  await expectAccessibleEverywhere(page, "entry-update");
  await page.getByRole("button", { name: "Take it over" }).click();
  await expect(page.getByText(/^served-things has the version [0-9a-f]{12} of its entry\. It is tested and live\.$/)).toBeFocused();

  // It looked for its MCP servers, and one of them is gone.
  const toolset = async () => JSON.stringify(await (await page.request.get("/v1/toolsets/fading", { headers: { "Sec-Fetch-Site": "same-origin" } })).json());
  await expect.poll(toolset).toContain('"fault":');
  await page.goto("/toolsets/fading");
  const attention = page.getByRole("listitem").filter({ hasText: "fading could not be reached." });
  await expect(attention).toContainText("sluice toolset refresh fading");
  await page.getByRole("link", { name: "Connectors", exact: true }).click();
  await expect(page.getByText("Not reached")).toBeVisible();
});
