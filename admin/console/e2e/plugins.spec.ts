import { expect, test } from "./fixture";

// TestConsole published the plugin mask.
test("a version of a plugin is tested again, yanked and put back", async ({ page }) => {
  await page.goto("/plugins");
  await page.getByRole("link", { name: "mask" }).click();
  await expect(page.getByText("8.0 MiB")).toBeVisible();
  await page.getByRole("button", { name: "Run them again" }).click();
  await expect(page.getByRole("region", { name: "Golden cases" })).toContainText("Passed");
  await page.getByRole("button", { name: "Yank" }).click();
  await page.getByLabel("Why").fill("It misses addresses in arrays");
  await page.getByRole("dialog").getByRole("button", { name: "Yank" }).click();
  await expect(page.getByText("It misses addresses in arrays")).toBeVisible();
  await page.getByRole("button", { name: "Undo the yank" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Put it back" }).click();
  await expect(page.getByText("It misses addresses in arrays")).toHaveCount(0);
  await expect(page.getByText("Published", { exact: true }).first()).toBeVisible();
});
