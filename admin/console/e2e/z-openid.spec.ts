import { expect, expectAccessible, expectAccessibleEverywhere, test } from "./fixture";

test("a member signs in at the OpenID provider, and comes back to the page that was wanted", async ({ browser, baseURL, page: admin }) => {
  await admin.goto("/settings");
  await expect(admin.getByText("by the claim preferred_username: test-user2 = editor")).toBeVisible();
  const context = await browser.newContext({ baseURL, storageState: { cookies: [], origins: [] } });
  const page = await context.newPage();
  await page.goto("/catalog/requests");
  await expect(page.getByRole("link", { name: "Sign in with Acme" })).toBeVisible();
  await expectAccessibleEverywhere(page, "sign-in");
  await page.getByRole("link", { name: "Sign in with Acme" }).click();
  await page.locator('input[name="username"]').fill(process.env.SLUICE_E2E_USER ?? "");
  await page.locator('input[name="password"]').fill(process.env.SLUICE_E2E_PASSWORD ?? "");
  await page.locator('[type="submit"]').click();
  await expect(page).toHaveURL(/\/catalog\/requests$/);
  await expect(page.getByRole("heading", { level: 1, name: "Catalog" })).toBeVisible();
  await expect(page.getByText("editor in")).toBeVisible();

  // The session ends in the middle of a form: another window signs in, and nothing typed is lost.
  await page.goto("/catalog/requests/new");
  const words = "What was typed before the session ended";
  await page.getByRole("textbox").first().fill(words);
  await context.clearCookies();
  await page.evaluate(() => fetch("/v1/session", { method: "DELETE" }));
  await page.evaluate(() => dispatchEvent(new Event("sluice:signed-out")));
  await expect(page.getByRole("dialog")).toContainText("Your session has ended");
  await expectAccessible(page);
  const opened = context.waitForEvent("page");
  await page.getByRole("dialog").getByRole("link", { name: "Sign in with Acme" }).click();
  const other = await opened;
  const name = other.locator('input[name="username"]');
  await name.fill(process.env.SLUICE_E2E_USER ?? "");
  await other.locator('input[name="password"]').fill(process.env.SLUICE_E2E_PASSWORD ?? "");
  await other.locator('[type="submit"]').click();
  await expect(other.getByText("You are signed in")).toBeVisible();
  await other.close();
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.getByRole("textbox").first()).toHaveValue(words);
  await context.close();
});
