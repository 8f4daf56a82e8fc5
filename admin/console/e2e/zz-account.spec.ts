import { expect, test } from "./fixture";

// Its file is the last one by name: it ends the session of the tests before.
test("the first administrator makes an account and signs in with its password", async ({ browser, page, baseURL }) => {
  await page.goto("/settings");
  await page.getByLabel("Name").fill("Ada Lovelace");
  await page.getByLabel("E-mail").fill("ada@example.com");
  await page.getByLabel("Password").fill("correct horse battery");
  await page.getByRole("button", { name: "Make the account" }).click();
  await expect(page.getByText("Ada Lovelace").first()).toBeVisible();
  await expect(page.getByLabel("Current password")).toBeVisible();

  const context = await browser.newContext({ baseURL, storageState: { cookies: [], origins: [] } });
  const other = await context.newPage();
  await other.goto("/settings");
  await other.getByLabel("E-mail").fill("ada@example.com");
  await other.getByLabel("Password").fill("correct horse battery");
  await other.getByRole("button", { name: "Sign in" }).click();
  await expect(other.getByRole("heading", { level: 1, name: "Settings" })).toBeVisible();
  await other.getByRole("button", { name: "Sign out" }).click();
  await expect(other.getByRole("heading", { level: 1, name: "Sign in" })).toBeVisible();
  await context.close();
});
