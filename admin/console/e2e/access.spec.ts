import { expect, expectAccessibleEverywhere, test } from "./fixture";

test("a viewer reads everything, and is shown nothing that the API refuses", async ({ page, browser, baseURL }) => {
  const headers = { Origin: baseURL ?? "" };
  const made = await page.request.post("/v1/members", { headers, data: { email: "vera@example.com", name: "Vera", role: "viewer" } });
  const link = await page.request.post(`/v1/members/${(await made.json()).id}/login-link`, { headers });
  const context = await browser.newContext({ baseURL, storageState: { cookies: [], origins: [] } });
  const viewer = await context.newPage();
  await viewer.goto((await link.json()).url);
  await expect(viewer.getByText("viewer in Default")).toBeVisible();
  await expect(viewer.getByText("Your login link is used up")).toBeVisible();
  await expectAccessibleEverywhere(viewer, "first-login");
  await expect(viewer.getByRole("link", { name: "Create toolset" })).toHaveCount(0);

  const hidden = async (path: string, shows: string, ...buttons: string[]) => {
    await viewer.goto(path);
    await expect(viewer.getByText(shows).first()).toBeVisible();
    for (const name of buttons) await expect(viewer.getByRole("button", { name })).toHaveCount(0);
  };
  for (const path of ["/toolsets/new", "/toolsets/new/mcp", "/toolsets/new/refused/test"]) {
    await hidden(path, "Creating a toolset needs the role editor", "Continue", "Test Connection", "Run the test");
  }
  await hidden("/alerts/channels", "sluice notify channel list", "Add a channel");
  await hidden("/alerts/rules", "upstream.auth_failed", "Send a test");
  await hidden("/alerts", "refuses the credential", "Acknowledge");
  await viewer.getByRole("link", { name: /refuses the credential/ }).click();
  await expect(viewer.getByText("X-Key: ••••")).toBeVisible();
  await expect(viewer.getByRole("button", { name: "Acknowledge" })).toHaveCount(0);
  await hidden("/catalog/github", "Editors and administrators add connectors.", "Add");
  await hidden("/plugins/mask", "Golden cases", "Yank", "Run them again");
  await hidden("/toolsets/demo/optimizations", "Changing it needs the role editor.", "Save");
  await hidden("/toolsets/refused/authentication", "Setting it needs the role editor.", "Replace the credential", "Remove it", "Test it");
  await hidden("/toolsets/demo/access", "No token was made yet.", "Save", "Make a token", "Allow an address");
  await hidden("/toolsets/demo/workflows", "No workflows", "Add a document");
  await hidden("/toolsets/demo/settings", "Changing it needs the role admin.", "Save", "Delete it");
  await hidden("/settings/tokens", "Administrators make and revoke API tokens.");
  await hidden("/settings/edges", "No edge has joined.", "Make a join token");
  await hidden("/settings/audit", "Administrators read the audit log.");
  await hidden("/analytics/calls", "list_things");
  await viewer.getByRole("button", { name: /call_/ }).first().click();
  await expect(viewer.getByText("Editors and administrators read single calls")).toBeVisible();
  await viewer.keyboard.press("Escape");

  await viewer.getByRole("link", { name: "Set a password" }).click();
  await expect(viewer.getByText("Your login link is used up")).toHaveCount(0);
  await viewer.getByLabel("New password").fill("correct horse battery");
  await viewer.getByRole("button", { name: "Set the password" }).click();
  await expect(viewer.getByLabel("Current password")).toBeVisible();
  await viewer.getByRole("link", { name: "Home" }).click();
  await expect(viewer.getByText("What the toolsets of this workspace did")).toBeVisible();
  await expect(viewer.getByText("Your login link is used up")).toHaveCount(0);

  const refused = await viewer.request.post("/v1/alerts/test", { headers, data: {} });
  expect(refused.status()).toBe(403);
  await context.close();
});
