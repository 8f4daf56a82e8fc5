import { readFileSync } from "node:fs";
import { expect, expectAccessibleEverywhere, test } from "./fixture";

const headers = { "Sec-Fetch-Site": "same-origin" };

test("the workspace is exported, and a document imported once what it changes was seen", async ({ page }) => {
  await page.goto("/settings/transfer");
  const saved = page.waitForEvent("download");
  await page.getByRole("textbox", { name: "Toolsets" }).fill("demo");
  await page.getByRole("button", { name: "Save the export" }).click();
  const text = readFileSync(await (await saved).path(), "utf8");
  expect(text).toContain('"demo"');
  expect(text).not.toContain("the key of the stand-in");

  const choose = (name: string, content: string) => page.getByLabel("Exported document").setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from(content) });
  const show = page.getByRole("button", { name: "Show what would change" });
  await choose("notes.json", "[1, 2]");
  await show.click();
  await expect(page.getByRole("alert")).toContainText("This is no exported document");

  const document = JSON.parse(text) as { toolsets: { slug: string; name: string }[] };
  await choose("sluice-export.json", JSON.stringify({ ...document, toolsets: document.toolsets.map((t) => ({ ...t, slug: "imported", name: "Imported" })) }));
  await show.click();
  const plan = page.getByRole("list", { name: "What the import changes" });
  await expect(plan.getByRole("listitem").filter({ hasText: /^imported/ })).toContainText("Created");
  await expect(plan).toContainText("Not in it, stays");
  await expectAccessibleEverywhere(page, "import");

  // Somebody else changes the workspace before it is imported.
  const other = await page.request.patch("/v1/toolsets/refused", { headers: { ...headers, "If-Match": "*", "Content-Type": "application/merge-patch+json" }, data: { description: "of another tab" } });
  expect(other.status(), await other.text()).toBe(200);
  await page.getByRole("button", { name: "Import it" }).click();
  await expect(page.getByText("Somebody changed the workspace meanwhile.")).toBeVisible();
  await show.click();
  await page.getByRole("button", { name: "Import it" }).click();
  await expect(page.getByText("Imported: 1 change.")).toBeVisible();
  await page.goto("/toolsets/imported");
  await expect(page.getByRole("heading", { level: 1, name: "Imported" })).toBeVisible();
  await page.goto("/toolsets/imported/settings");
  await page.getByRole("button", { name: "Delete it" }).click();
  await page.getByRole("dialog").getByRole("textbox").fill("imported");
  await page.getByRole("dialog").getByRole("button", { name: "Delete it" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Toolsets" })).toBeVisible();
});

test("the key of credentials is rotated, and a workspace made", async ({ page }) => {
  await page.goto("/settings/node");
  await expect(page.getByRole("region", { name: "Releases" })).toContainText("Published");
  await expect(page.getByText("This one alone.")).toBeVisible();
  await page.getByRole("button", { name: "Rotate the key of credentials" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Rotate it" }).click();
  await expect(page.getByText(/sealed values? put under the new key\./)).toBeVisible();
  await expect(page.getByRole("region", { name: "Keys" })).toContainText("Opens only");
  await page.getByRole("button", { name: "Make a workspace" }).click();
  await page.getByLabel("Identifier").fill("acme");
  await page.getByRole("button", { name: "Make it" }).click();
  await expect(page.getByRole("region", { name: "the API token of the administrator" })).toContainText("slu_");
  await expect(page.getByRole("region", { name: "the command that makes a login link" })).toContainText("sluice session link --server http");
  await page.getByRole("button", { name: "Close" }).click();
  await expect(page.getByRole("region", { name: "Workspaces" })).toContainText("acme");
});

test("the draft is previewed at a URL of its own", async ({ page }) => {
  await page.goto("/toolsets/refused/revisions");
  await page.getByRole("button", { name: "Make a preview" }).click();
  await page.getByRole("button", { name: "Make it" }).click();
  const url = (await page.getByRole("region", { name: "the URL of the preview" }).textContent())?.trim() ?? "";
  const token = (await page.getByRole("region", { name: "the token of the preview" }).textContent())?.trim() ?? "";
  await page.getByRole("button", { name: "Close" }).click();
  await expect(page.getByText("The draft as it is")).toBeVisible();
  const ask = () => page.request.post(url, { headers: { Authorization: `Bearer ${token}`, Accept: "application/json, text/event-stream" }, data: { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} } });
  expect((await ask()).status()).toBe(200);
  await page.getByRole("button", { name: "End it" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End it" }).click();
  await expect(page.getByText("None. A preview serves the draft")).toBeVisible();
  expect((await ask()).status()).toBe(404);
});

test("an administrator sees a member's passkeys", async ({ page }) => {
  const made = await page.request.post("/v1/members", { headers, data: { email: "keys@example.com", role: "viewer" } });
  expect(made.status()).toBe(201);
  await page.goto("/settings");
  await page.getByRole("button", { name: "Show the passkeys of keys@example.com" }).click();
  await expect(page.getByRole("dialog")).toContainText("They have none.");
  await expect(page.getByText("sluice member passkey list keys@example.com")).toBeVisible();
});
