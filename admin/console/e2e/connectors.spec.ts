import { expect, test } from "./fixture";

// TestConsole serves a specification there, and added a program to the toolset bridged.
const specification = new URL("/alertmanager.yaml", process.env.SLUICE_E2E_HOOK).href;
const headers = { "Sec-Fetch-Site": "same-origin" };

test("a connector is added to a toolset, changed and removed", async ({ page }) => {
  const text = "openapi: 3.1.0\ninfo: {title: Joined, version: '1'}\nservers: [{url: 'https://joined.example'}]\npaths: {/first: {get: {operationId: get_first, parameters: [{name: tenant, in: query, schema: {type: string}}], responses: {'200': {description: ok}}}}}\n";
  const made = await page.request.post("/v1/toolsets", { headers, data: { name: "Joined", source: { openapi: { document: text } }, deploy: { skip: true } } });
  expect([200, 201]).toContain(made.status());
  await page.goto("/toolsets/joined/connectors");
  await page.getByRole("button", { name: "Add a connector" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Add it" }).click();
  await expect(dialog.getByText("Enter an http or https URL.")).toBeVisible();
  await dialog.getByLabel("URL of the specification").fill(specification);
  await dialog.getByLabel("Name").fill("second");
  await dialog.getByRole("button", { name: "Add it" }).click();
  await expect(dialog.getByRole("heading", { name: "second is added" })).toBeVisible();
  await dialog.getByRole("button", { name: "Close" }).click();
  await expect(page.getByText(specification)).toBeVisible();

  await page.getByRole("button", { name: "Change second" }).click();
  await dialog.getByLabel("Address of the API").fill("https://second.example");
  await dialog.getByLabel("What is made of its answers").selectOption("Shorter, nothing left out");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("https://second.example")).toBeVisible();

  // What clients are told of a tool, and what is sent without the model.
  await page.getByRole("link", { name: "Tools", exact: true }).click();
  await page.getByRole("button", { name: "Arguments and effects of get_first" }).click();
  await dialog.getByLabel("Fixed values").fill("no object");
  await dialog.getByLabel("It may destroy something").selectOption("Yes");
  await dialog.getByRole("button", { name: "Save in the draft" }).click();
  await expect(dialog.getByText("Write a JSON object.")).toBeVisible();
  await dialog.getByLabel("Fixed values").fill('{"tenant": "acme"}');
  await dialog.getByLabel("Descriptions of arguments").fill('{"id": 1}');
  await dialog.getByRole("button", { name: "Save in the draft" }).click();
  await expect(dialog.getByText("Write a JSON object of texts.")).toBeVisible();
  await dialog.getByLabel("Descriptions of arguments").fill("");
  await dialog.getByRole("button", { name: "Save in the draft" }).click();
  await expect(page.getByText("Destructive")).toBeVisible();
  await page.getByRole("link", { name: "Connectors", exact: true }).click();

  // Somebody else changes the toolset while the dialog is open.
  await page.getByRole("button", { name: "Change second" }).click();
  const other = await page.request.patch("/v1/toolsets/joined", { headers: { ...headers, "If-Match": "*", "Content-Type": "application/merge-patch+json" }, data: { description: "of another tab" } });
  expect(other.status()).toBe(200);
  await dialog.getByLabel("Address of the API").fill("https://third.example");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog.getByRole("alert")).toContainText(/req_/);
  await dialog.getByRole("button", { name: "Cancel" }).click();

  await page.getByRole("button", { name: "Remove second" }).click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await expect(page.getByText("https://second.example")).toHaveCount(0);
  await expect(page.getByRole("button", { name: /^Remove / })).toHaveCount(0); // The last one stays.
});

test("a program of the node shows its state and what it wrote", async ({ page }) => {
  await page.goto("/toolsets/bridged/connectors");
  await expect(page.getByText("sluice add -- npx -y PACKAGE")).toBeVisible();
  await page.getByRole("button", { name: "Show what it wrote" }).click();
  await expect(page.getByRole("region", { name: /^what .* wrote$/ })).toContainText("started");
});

test("a credential that is not set needs attention", async ({ page }) => {
  const text = "openapi: 3.1.0\ninfo: {title: Keyless, version: '1'}\nservers: [{url: 'https://keyless.example'}]\nsecurity: [{key: []}]\ncomponents: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}\npaths: {/first: {get: {operationId: get_first, responses: {'200': {description: ok}}}}}\n";
  const keyless = await page.request.post("/v1/toolsets", { headers, data: { name: "Keyless", source: { openapi: { document: text } }, deploy: { skip: true } } });
  expect([200, 201]).toContain(keyless.status());
  await page.goto("/toolsets/keyless");
  await expect(page.getByText("The specification asks for a credential, and none is set.")).toBeVisible();
  await page.getByText("Enter it on the page").getByRole("link", { name: "Authentication" }).click();
  await expect(page).toHaveURL(/\/toolsets\/keyless\/authentication$/);
});
