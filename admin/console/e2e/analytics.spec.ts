import { readFileSync } from "node:fs";
import { expect, expectAccessible, test } from "./fixture";

test("usage is a chart, a table and a file", async ({ page }) => {
  await page.goto("/analytics");
  await expect(page.locator("canvas").first()).toBeVisible();
  await expect(page.locator("canvas")).toHaveCount(3);
  await page.getByRole("button", { name: "Calls and errors as a table" }).click();
  const table = page.getByRole("region", { name: "Calls and errors" });
  await expect(table.getByRole("row").nth(1)).toBeVisible();
  await expectAccessible(page);
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Calls and errors as a CSV file" }).click();
  expect(readFileSync(await (await saved).path(), "utf8")).toMatch(/^from,All calls,Errors\r\n\d{4}-/);

  // Axes and lines are drawn again in the colours of another theme.
  const pixels = () => page.locator("canvas").first().evaluate((c: HTMLCanvasElement) => c.toDataURL());
  await page.emulateMedia({ colorScheme: "light" });
  const light = await pixels();
  await page.emulateMedia({ colorScheme: "dark" });
  await expect.poll(pixels).not.toBe(light);

  await page.getByLabel("Divided by").selectOption("By outcome");
  await expect(page.getByRole("region", { name: "Usage by outcome" })).toContainText("Tool error");
  await page.getByLabel("Range").selectOption("Last 7 days");
  await expect(page).toHaveURL(/range=7d/);
});

test("a cause leads to its calls, and a call to its stages", async ({ page }) => {
  await page.goto("/analytics/errors?toolset=refused");
  await expect(page.getByRole("region", { name: "Samples" })).toContainText("401");
  await page.getByRole("link", { name: "http_401" }).click();
  await expect(page).toHaveURL(/\/analytics\/calls\?.*cause=http_401/);
  await expect(page.getByLabel("Tool", { exact: true })).toHaveValue("list_things");
  await page.getByRole("button", { name: /call_/ }).first().click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByText("Waiting for the upstream")).toBeVisible();
  await expectAccessible(page);
  await page.reload(); // The call is in the address.
  await expect(dialog.getByText("refused, revision 1")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/call=/);

  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as CSV" }).click();
  expect(readFileSync(await (await saved).path(), "utf8")).toMatch(/\r\ncall_\d+,[^,]+,refused,list_things,1,tool_error,http_401,401,refused,/);

  await page.getByLabel("Outcome").selectOption("OK");
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(page.getByText("No call that fits in this range.")).toBeVisible();
});
