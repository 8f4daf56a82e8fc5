import { expect, expectAccessible, test } from "./fixture";

// TestConsole made the toolset articles; playground.spec.ts is done with it.
test("a login in the browser is begun, finished and removed", async ({ page }) => {
  const server = new URL(process.env.SLUICE_E2E_HOOK ?? "").origin;
  await page.goto("/toolsets/articles/authentication");
  await page.getByRole("button", { name: "Replace the credential" }).click();
  await page.getByLabel("Type").selectOption("Login with a browser (OAuth 2)");
  await page.getByLabel("Client ID").fill("console");
  await page.getByLabel("Authorization URL").fill(`${server}/authorize`);
  await page.getByLabel("Token URL").fill(`${server}/token`);
  await page.getByRole("button", { name: "Save the credential" }).click();
  await expect(page.getByText("Login needed")).toBeVisible();
  await page.getByRole("button", { name: "Log in" }).click();
  await expectAccessible(page);
  const opened = page.waitForEvent("popup");
  await page.getByRole("link", { name: "Open the login page" }).click();
  const login = await opened;
  await login.getByRole("button", { name: "Go on and log in" }).click();
  await expect(login.getByText("You are logged in")).toBeVisible();
  await login.close();
  await expect(page.getByText("Logged in.", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Remove it" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove it" }).click();
  await expect(page.getByText("No credential is set.")).toBeVisible();
});

test("a toolset is renamed, limited and deleted by its name", async ({ page }) => {
  await page.goto("/toolsets/articles/settings");
  await page.getByLabel("Name", { exact: true }).fill("");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Enter a name.")).toBeVisible();
  await page.getByLabel("Name", { exact: true }).fill("Old articles");
  await page.getByLabel("Milliseconds that a call may take").fill("5000");
  await expect(page.getByText("sluice toolset optimize articles --time-limit 5000ms")).toBeVisible();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Old articles" })).toBeVisible();
  await page.getByLabel("Keeps what calls said").selectOption("Of calls that failed");
  await page.getByRole("button", { name: "Save: Call log" }).click();
  await page.getByLabel("Labels").fill("region=eu tier");
  await expect(page.getByText("Write NAME=VALUE, with blanks between several.")).toBeVisible();
  await page.getByLabel("Labels").fill("region=eu tier=gold");
  await page.getByRole("button", { name: "Save: Edges" }).click();
  await expect(page.getByText("Saved.", { exact: true })).toHaveCount(2);
  await page.getByRole("button", { name: "Delete it" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete Old articles" });
  await dialog.getByLabel("Write articles to delete it").fill("article");
  await expect(dialog.getByRole("button", { name: "Delete it" })).toBeDisabled();
  await dialog.getByLabel("Write articles to delete it").fill("articles");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Delete it" }).click();
  await expect(page).toHaveURL(/\/toolsets$/);
  await expect(page.getByText("Old articles")).toHaveCount(0);
});
