import { readFileSync } from "node:fs";
import { expect, expectAccessible, expectAccessibleEverywhere, test } from "./fixture";

// TestConsole serves the API of this specification, which wants a key.
const api = process.env.SLUICE_E2E_API ?? "";
const specification = readFileSync("../../cmd/sluice/e2e/testdata/things.yaml", "utf8");
const keyed = (title: string) =>
  specification
    .replace("title: Things", `title: ${title}`)
    .replace(/http:\/\/127\.0\.0\.1:1\b/, api)
    .replace("components:\n", "security: [{key: []}]\ncomponents:\n  securitySchemes:\n    key: {type: apiKey, in: header, name: X-Key}\n");

test("a file becomes a live toolset", async ({ page }) => {
  await page.goto("/");
  await page.getByRole("link", { name: "Create toolset" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByText("Choose a file, or paste its text.")).toBeVisible();
  await page.getByLabel("Specification file").setInputFiles({ name: "things.yaml", mimeType: "application/yaml", buffer: Buffer.from(keyed("Uploaded things")) });
  await expect(page.getByText("things.yaml is read.")).toBeVisible();
  await expectAccessibleEverywhere(page, "create-source");
  await page.getByRole("button", { name: "Continue" }).click();

  await expect(page).toHaveURL(/\/toolsets\/new\/uploaded-things\/review$/);
  await expect(page.getByRole("checkbox", { name: "list_things" })).toBeChecked();
  await expectAccessibleEverywhere(page, "create-review");
  await page.getByRole("link", { name: "Back" }).click();
  await expect(page.getByText("things.yaml is read.")).toBeVisible();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Continue with 1 tool" }).click();

  await expect(page).toHaveURL(/\/authentication$/);
  await expect(page.getByLabel("Header name")).toHaveValue("X-Key");
  await expectAccessibleEverywhere(page, "create-authentication");
  await page.getByLabel("API key").fill("a wrong key that is long");
  await page.getByRole("button", { name: "Save and continue" }).click();

  await expect(page).toHaveURL(/\/names$/);
  await expect(page.getByText("The names and descriptions are good, or were decided.")).toBeVisible();
  await page.getByLabel("Lossless").check();
  await expectAccessibleEverywhere(page, "create-names");
  await page.getByRole("button", { name: "Continue", exact: true }).click();
  await page.getByRole("button", { name: "Run the test" }).click();
  await expect(page.getByText("A private address")).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Allow this address and test again" }).click();
  await expect(page.getByText("HTTP 401", { exact: true })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("link", { name: "Correct the credential" }).click();
  await page.getByLabel("API key").fill("the key of the stand-in");
  await page.getByRole("button", { name: "Save and continue" }).click();
  await expect(page.getByLabel("Lossless")).toBeChecked();
  await page.getByRole("button", { name: "Continue", exact: true }).click();
  await page.getByRole("button", { name: "Run the test" }).click();
  await expect(page.getByText("Passed, deployed")).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Connect an application" }).click();
  await expect(page.getByText("The toolset is live.")).toBeVisible();
  await expect(page.getByRole("region", { name: "the toolset URL" })).toContainText("uploaded-things");
  await expectAccessibleEverywhere(page, "create-live");
});

test("a paste that is not a specification shows its line", async ({ page }) => {
  const broken = specification.replace("operationId: listThings", "operationId: [listThings");
  await page.goto("/toolsets/new");
  await page.getByLabel("Paste").check();
  await page.getByLabel("Text of the specification").fill(broken);
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("alert")).toContainText("Invalid OpenAPI spec");
  await expect(page.getByRole("region", { name: "The document" }).locator("[aria-current]")).toBeVisible();
  await expectAccessible(page);
});

test("a URL at which nothing answers is a problem, and nothing typed is lost", async ({ page }) => {
  await page.goto("/toolsets/new");
  await page.getByLabel("URL", { exact: true }).check();
  await page.getByLabel("URL of the specification").fill("http://127.0.0.1:9/openapi.json");
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await expect(page.getByLabel("URL of the specification")).toHaveValue("http://127.0.0.1:9/openapi.json");
});

test("keys alone are enough, from a URL to a live toolset", async ({ page }) => {
  await page.goto("/toolsets/new");
  await page.getByRole("radio", { name: "File" }).focus();
  await page.keyboard.press("ArrowLeft"); // From the first choice to the last.
  await page.keyboard.press("Tab");
  await page.keyboard.type(`${api}/openapi.yaml`);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/review$/);
  await page.getByRole("button", { name: "Continue with 1 tool" }).press("Enter");
  await page.getByRole("button", { name: "Skip" }).press("Enter");
  await page.getByRole("button", { name: "Continue", exact: true }).press("Enter");
  await page.getByRole("button", { name: "Run the test" }).press("Enter");
  await page.getByRole("button", { name: "Connect an application" }).press("Enter");
  await expect(page.getByText("The toolset is live.")).toBeVisible();
});

test("a pasted document of Swagger 2.0, with its key, becomes a live toolset", async ({ page }) => {
  const document = {
    swagger: "2.0",
    info: { title: "Pasted things", version: "1.0" },
    host: new URL(api).host,
    basePath: "/",
    schemes: ["http"],
    securityDefinitions: { key: { type: "apiKey", in: "header", name: "X-Key" } },
    security: [{ key: [] }],
    produces: ["application/json"],
    paths: { "/things": { get: { operationId: "listThings", summary: "List things", responses: { 200: { description: "All things", schema: { type: "array", items: { $ref: "#/definitions/Thing" } } } } } } },
    definitions: { Thing: { type: "object", properties: { id: { type: "integer", format: "int64" }, name: { type: "string" } } } },
  };
  await page.goto("/toolsets/new");
  await page.getByLabel("Paste").check();
  await page.getByLabel("Text of the specification").fill(JSON.stringify(document, null, 1));
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page).toHaveURL(/\/toolsets\/new\/pasted-things\/review$/);
  await page.getByRole("button", { name: "Continue with 1 tool" }).click();
  await expect(page.getByLabel("Header name")).toHaveValue("X-Key");
  await page.getByLabel("API key").fill("the key of the stand-in");
  await page.getByRole("button", { name: "Save and continue" }).click();
  await page.getByRole("button", { name: "Continue", exact: true }).click();
  await page.getByRole("button", { name: "Run the test" }).click();
  await page.getByRole("button", { name: "Allow this address and test again" }).click();
  await expect(page.getByText("Passed, deployed")).toBeVisible();

  // The same document again is that toolset, and says so.
  await page.goto("/toolsets/new");
  await page.getByLabel("Paste").check();
  await page.getByLabel("Text of the specification").fill(JSON.stringify(document, null, 1));
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByText("This source is a toolset already")).toBeVisible();
  await expectAccessible(page);
});

test("one of 300 tools is left out, and search is advised", async ({ page }) => {
  const paths = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`/things/${i}`, { get: { operationId: `thing${i}`, responses: { 200: { description: "It" } } } }]));
  await page.goto("/toolsets/new");
  await page.getByLabel("Paste").check();
  await page.getByLabel("Text of the specification").fill(JSON.stringify({ openapi: "3.1.0", info: { title: "Many things", version: "1" }, servers: [{ url: api }], paths }));
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByLabel("Find tools by search")).toBeChecked();
  await page.getByRole("checkbox").first().uncheck();
  await page.getByRole("button", { name: "Continue with 299 tools" }).click();
  await expect(page).toHaveURL(/\/authentication$/);
  await page.reload();
  await page.getByRole("link", { name: "Back" }).click();
  await expect(page.getByText("299 of 300 tools chosen")).toBeVisible();
});

test("two keys that a specification wants together are entered together", async ({ page }) => {
  const document = keyed("Twice keyed things").replace("security: [{key: []}]", "security: [{key: [], app: []}]").replace("    key: {", "    app: {type: apiKey, in: header, name: X-App}\n    key: {");
  await page.goto("/toolsets/new");
  await page.getByLabel("Specification file").setInputFiles({ name: "twice.yaml", mimeType: "application/yaml", buffer: Buffer.from(document) });
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Continue with 1 tool" }).click();
  const second = page.getByRole("group", { name: /^Credential \d of 2: app$/ });
  await page.getByRole("group", { name: /^Credential \d of 2: key$/ }).getByLabel("API key").fill("the key of the stand-in");
  await page.getByRole("button", { name: "Save and continue" }).click();
  await expect(second.getByText("Enter it.")).toBeVisible();
  await expectAccessible(page);
  await second.getByLabel("API key").fill("the key of the application");
  await page.getByRole("button", { name: "Add a credential" }).click();
  await page.getByRole("button", { name: /^Remove this credential.*3 of 3$/ }).click();
  await page.getByRole("button", { name: "Save and continue" }).click();
  await page.getByRole("button", { name: "Continue", exact: true }).click();
  await page.getByRole("button", { name: "Run the test" }).click();
  await page.getByRole("button", { name: "Allow this address and test again" }).click();
  await expect(page.getByText("Passed, deployed")).toBeVisible();
  await page.getByRole("link", { name: "3. Authentication" }).click();
  await expect(page.getByText(/^(?=.*X-Key: ••••)(?=.*X-App: ••••)/)).toBeVisible();
});

test("another server of the specification is chosen", async ({ page }) => {
  const text = "openapi: 3.1.0\ninfo: {title: Two servers, version: '1'}\nservers: [{url: 'https://api.two.example'}, {url: 'https://sandbox.two.example', description: For tests}]\npaths: {/things: {get: {operationId: list_things, responses: {'200': {description: ok}}}}}\n";
  await page.goto("/toolsets/new");
  await page.getByLabel("Specification file").setInputFiles({ name: "two.yaml", mimeType: "application/yaml", buffer: Buffer.from(text) });
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Use it: https://sandbox.two.example" }).click();
  await expect(page.getByLabel("Where calls are sent")).toHaveValue("https://sandbox.two.example");
  await expect(page.getByRole("list", { name: "Other servers" })).toContainText("https://api.two.example");
});

test("the variables of an address are entered", async ({ page }) => {
  const text =
    "openapi: 3.1.0\ninfo: {title: Tenants, version: '1'}\nservers: [{url: 'https://{tenant}.api.example/{version}', variables: {tenant: {default: demo, description: Name of your account}, version: {default: v2, enum: [v1, v2]}}}]\npaths: {/things: {get: {operationId: list_things, responses: {'200': {description: ok}}}}}\n";
  await page.goto("/toolsets/new");
  await page.getByLabel("Specification file").setInputFiles({ name: "tenants.yaml", mimeType: "application/yaml", buffer: Buffer.from(text) });
  await page.getByRole("button", { name: "Continue" }).click();
  const address = page.getByLabel("Where calls are sent");
  await expect(address).toHaveValue("https://demo.api.example/v2");
  await page.getByLabel("tenant").fill("acme");
  await page.getByLabel("version").selectOption("v1");
  await expect(address).toHaveValue("https://acme.api.example/v1");
  await expectAccessible(page);
  await page.getByLabel("tenant").fill("");
  await expect(address).toHaveValue("https://{tenant}.api.example/v1");
  await page.getByRole("button", { name: "Continue with 1 tool" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await page.getByLabel("tenant").fill("acme");
  await page.getByRole("button", { name: "Continue with 1 tool" }).click();
  await expect(page).toHaveURL(/\/authentication$/);
  await page.getByRole("link", { name: "Back" }).click();
  await expect(address).toHaveValue("https://acme.api.example/v1");
});
