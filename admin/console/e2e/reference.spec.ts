import { expect, expectAccessible, test } from "./fixture";

test("an operation is found, read and sent", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("link", { name: "API", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1, name: "API reference" })).toBeVisible();
  await page.getByLabel("Search operations").fill("get-toolset read");
  await expect(page.getByRole("status").filter({ hasText: / of \d+ operations/ })).toBeVisible();
  await expect(page).toHaveURL(/q=/);
  await page.getByRole("link", { name: /^GET \/v1\/toolsets\/\{id\} Read a toolset/ }).click();

  await page.getByText("Body of 200").click();
  await page.getByText("Members of connectors", { exact: true }).click();
  await expect(page.getByRole("list", { name: /^Members of .*Connector/ }).first()).toBeVisible();
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByText("Enter id.")).toBeVisible();
  await page.getByLabel("id (required)").fill("demo");
  await expect(page.getByRole("region", { name: "the request with curl" })).toContainText('/v1/toolsets/demo -H "Authorization: Bearer $SLUICE_TOKEN"');
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByText(/^HTTP 200 · /)).toBeVisible();
  await expect(page.getByRole("region", { name: "Body of the answer" })).toContainText('"slug": "demo"');
  await expectAccessible(page);
});

test("an operation that changes something is asked about, with the ETag of what was read", async ({ page }) => {
  await page.goto("/reference/patch-toolset");
  await page.getByLabel("id (required)").fill("refused");
  const body = page.getByRole("textbox", { name: "Body" });
  await body.fill('{"description": ');
  await page.getByRole("button", { name: "Send …" }).click();
  await expect(page.getByText(/^The body is not JSON: /)).toBeVisible();
  await body.fill('{"description": "Changed in the reference"}');
  await page.getByRole("button", { name: "Send …" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText(/Only while the version is still "v\d+"/);
  await expect(dialog).toContainText("Changed in the reference");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByText(/^HTTP /)).toHaveCount(0);
  // Somebody else was faster: the version that was read is refused.
  await page.getByLabel("If-Match (required)").fill('"v0"');
  await page.getByRole("button", { name: "Send …" }).click();
  await dialog.getByRole("button", { name: "Send it" }).click();
  await expect(page.getByText(/^HTTP 412 · /)).toBeVisible();
  await page.getByRole("button", { name: "Read the ETag" }).click();
  await expect(page.getByLabel("If-Match (required)")).not.toHaveValue('"v0"');
  await page.getByRole("button", { name: "Send …" }).click();
  await dialog.getByRole("button", { name: "Send it" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByText(/^HTTP 200 · /)).toBeVisible();
  await page.goto("/toolsets/refused");
  await expect(page.getByText("Changed in the reference")).toBeVisible();
});

test("a stream of events is shown as it comes, and stopped", async ({ page }) => {
  await page.goto("/reference/watch-mcp-connection");
  await page.getByRole("textbox", { name: "Body" }).fill(JSON.stringify({ url: process.env.SLUICE_E2E_MCP_OPEN }));
  await page.getByRole("button", { name: "Send …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Send it" }).click();
  await expect(page.getByRole("region", { name: "Body of the answer" })).toContainText("event: done");
});

test("a form with files is sent", async ({ page }) => {
  await page.goto("/reference/publish-plugin");
  await page.getByLabel("Body as").selectOption("multipart/form-data");
  await page.getByLabel("module", { exact: true }).setInputFiles({ name: "empty.wasm", mimeType: "application/wasm", buffer: Buffer.from("no WebAssembly") });
  await expect(page.getByRole("region", { name: "the request with curl" })).toContainText("-F module=@empty.wasm");
  await page.getByRole("button", { name: "Send …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Send it" }).click();
  await expect(page.getByText(/^HTTP 4\d\d · /)).toBeVisible();
  await expect(page.getByRole("region", { name: "Body of the answer" })).toContainText('"code": "');
  await expectAccessible(page);
});
