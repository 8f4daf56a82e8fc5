import type { Page } from "@playwright/test";
import { expect, expectAccessible, expectAccessibleEverywhere, test } from "./fixture";

// TestConsole serves these MCP servers.
const server = (name: string) => process.env[`SLUICE_E2E_MCP_${name}`] ?? "";

const step = (page: Page, name: string) => page.getByRole("list", { name: "Steps of the connection" }).getByRole("listitem").filter({ hasText: new RegExp(`^${name}`) });

async function connect(page: Page, url: string) {
  await page.goto("/toolsets/new/mcp");
  await page.getByLabel("URL of the MCP server").fill(url);
  await page.getByRole("button", { name: "Test Connection" }).click();
}

async function testAndDeploy(page: Page) {
  await page.getByRole("button", { name: "Run the test" }).click();
  await expect(page.getByText("Passed, deployed")).toBeVisible();
  await page.getByRole("button", { name: "Connect an application" }).click();
  await expect(page.getByText("The toolset is live.")).toBeVisible();
}

test("an MCP server becomes a live toolset", async ({ page }) => {
  await page.goto("/toolsets/new");
  await page.getByRole("link", { name: "MCP server" }).click();
  await expect(page).toHaveURL(/\/toolsets\/new\/mcp$/);
  await page.getByRole("button", { name: "Test Connection" }).click();
  await expect(page.getByText("Enter an http or https URL")).toBeVisible();
  await page.getByLabel("URL of the MCP server").fill(server("OPEN"));
  await page.getByRole("button", { name: "Test Connection" }).click();
  await expect(step(page, "Reach the server")).toContainText("It answered HTTP");
  await expect(step(page, "Transport and revision")).toContainText("over Streamable HTTP");
  await expect(step(page, "Authentication")).toContainText("None is wanted");
  await expect(step(page, "Tools")).toContainText("2 tools, 1 prompt, 2 resources");
  await expectAccessibleEverywhere(page, "create-server");
  await page.getByRole("button", { name: "Continue with 2 tools" }).click();

  await expect(page).toHaveURL(/\/toolsets\/new\/notes\/review$/);
  await expect(page.getByRole("checkbox", { name: "read_note" })).toBeChecked();
  await expect(page.getByText("Only reads, it claims")).toBeVisible();
  await page.getByRole("checkbox", { name: "private/1" }).click(); // It is kept on the node at once.
  await expect(page.getByText("2 of 3 chosen")).toBeVisible();
  await page.getByRole("checkbox", { name: "delete_note" }).uncheck();
  await expectAccessibleEverywhere(page, "create-server-tools");
  await page.getByRole("button", { name: "Continue with 1 tool" }).click();
  await expect(page.getByRole("button", { name: "Run the test" })).toBeVisible();

  // Back, as far as it goes, and a reload: nothing is lost.
  await page.getByRole("link", { name: "Back" }).click();
  await expect(page.getByRole("checkbox", { name: "delete_note" })).not.toBeChecked();
  await expect(page.getByRole("checkbox", { name: "private/1" })).not.toBeChecked();
  await page.getByRole("link", { name: "Back" }).click();
  await expect(page.getByText("it told what it has without a credential")).toBeVisible();
  await page.getByRole("link", { name: "Back" }).click();
  await page.reload();
  await expect(page.getByLabel("URL of the MCP server")).toHaveValue(server("OPEN"));
  await page.getByRole("link", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Continue with 1 tool" }).click();
  await testAndDeploy(page);
});

test("a server that wants a token gets one, by keys alone", async ({ page }) => {
  await page.goto("/toolsets/new/mcp");
  await page.getByLabel("URL of the MCP server").focus();
  await page.keyboard.type(server("KEYED"));
  await page.keyboard.press("Enter");
  await expect(page.getByText("The server wants authentication before it says more.")).toBeVisible();
  await expect(step(page, "Authentication")).toContainText("HTTP 401");
  await expectAccessible(page);
  await page.getByRole("link", { name: "Continue with authentication" }).press("Enter");
  await expect(page).toHaveURL(/\/toolsets\/new\/mcp-authentication$/);
  await page.getByRole("radio", { name: "Log in, automatically" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expectAccessibleEverywhere(page, "create-server-key");
  await page.getByLabel("API key").fill("a wrong token that is long");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("alert")).toContainText("Cannot connect to MCP server");
  await expect(page.getByLabel("API key")).toHaveValue("a wrong token that is long");
  await page.getByLabel("API key").fill("let-the-console-in");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/keyed-notes\/review$/);
  await page.getByRole("button", { name: "Continue with 2 tools" }).press("Enter");
  await page.getByLabel("Arguments, as JSON").focus();
  await page.getByRole("button", { name: "Run the test" }).press("Enter");
  await page.getByRole("button", { name: "Connect an application" }).press("Enter");
  await expect(page.getByText("The toolset is live.")).toBeVisible();
});

test("a server that wants a login registers a client, and the login makes the draft", async ({ page, context }) => {
  await connect(page, server("OAUTH"));
  await expect(step(page, "Authentication")).toContainText("wants an OAuth login");
  await page.getByRole("link", { name: "Continue with authentication" }).click();
  await page.getByRole("button", { name: "Begin the login" }).click();
  await expect(page.getByText("A client was registered for this.")).toBeVisible();
  await expect(page).toHaveURL(/login=login_/);
  await expectAccessibleEverywhere(page, "create-server-login");
  const opened = context.waitForEvent("page");
  await page.getByRole("link", { name: "Open the login page" }).click();
  const login = await opened;
  await login.getByRole("button", { name: "Go on and log in" }).click();
  await login.locator('input[name="username"]').fill(process.env.SLUICE_E2E_USER ?? "");
  await login.locator('input[name="password"]').fill(process.env.SLUICE_E2E_PASSWORD ?? "");
  await login.locator('[type="submit"]').click();
  await expect(login.getByText("Sluice has the access it asked for.")).toBeVisible();
  await login.close();
  await expect(page.getByText("You are logged in.")).toBeVisible();
  await page.reload(); // The login is on the node.
  await page.getByRole("button", { name: "Continue", exact: true }).click();
  await expect(page).toHaveURL(/\/guarded-notes\/review$/);
  await page.getByRole("button", { name: "Continue with 2 tools" }).click();
  await testAndDeploy(page);
});

test("of a server with many tools none is chosen beforehand", async ({ page }) => {
  await connect(page, server("MANY"));
  await page.getByRole("button", { name: "Continue with 52 tools" }).click();
  await expect(page.getByText("0 of 52 tools chosen")).toBeVisible();
  await expect(page.getByRole("button", { name: "Continue with 0 tools" })).toBeDisabled();
  await page.getByRole("checkbox", { name: "read_note" }).check();
  await page.getByRole("button", { name: "Continue with 1 tool" }).click();
  await expect(page.getByRole("button", { name: "Run the test" })).toBeVisible();
  await page.getByRole("link", { name: "Back" }).click();
  await expect(page.getByText("1 of 52 tools chosen")).toBeVisible();
});

test("a dead server, a web page and a forbidden address are explained, and the address stays", async ({ page }) => {
  await connect(page, "http://127.0.0.2:9/mcp");
  await expect(page.getByRole("alert")).toContainText("Cannot connect to MCP server");
  await expect(page.getByRole("alert")).toContainText("127.0.0.2:9");
  await expect(step(page, "Reach the server")).toContainText("failed");
  await expectAccessible(page);
  await expect(page.getByLabel("URL of the MCP server")).toHaveValue("http://127.0.0.2:9/mcp");

  await page.getByLabel("URL of the MCP server").fill(server("OPEN").replace("/mcp", "/nothing"));
  await page.getByRole("button", { name: "Test Connection" }).click();
  await expect(page.getByRole("alert")).toContainText("Check the path of the URL");
  await expect(step(page, "Transport and revision")).toContainText("failed");

  await page.getByLabel("URL of the MCP server").fill("http://169.254.169.254/mcp");
  await page.getByRole("button", { name: "Test Connection" }).click();
  await expect(page.getByText("refused unless it is granted")).toBeVisible();
  await expectAccessible(page);
});

test("without a server there is no authentication", async ({ page }) => {
  await page.goto("/toolsets/new/mcp-authentication");
  await page.getByRole("link", { name: "Enter its URL" }).click();
  await expect(page.getByLabel("URL of the MCP server")).toHaveValue("");
});
