import { chromium, expect, type FullConfig } from "@playwright/test";

/** Opens the login link of the node, and keeps the session for the tests. */
export default async function signIn(config: FullConfig) {
  const use = config.projects[0]?.use;
  const link = process.env.SLUICE_LOGIN;
  if (!use || !link) throw new Error("SLUICE_LOGIN is not the login link of a node: run go test -run TestConsole ./cmd/sluice/e2e");
  const browser = await chromium.launch(use.launchOptions);
  const page = await browser.newPage();
  await page.goto(link);
  await expect(page.getByRole("heading", { level: 1, name: "Home" })).toBeVisible();
  expect(page.url()).not.toContain("login=");
  await page.context().storageState({ path: String(use.storageState) });
  await browser.close();
}
