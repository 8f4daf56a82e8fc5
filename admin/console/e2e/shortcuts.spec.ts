import { expect, expectAccessibleEverywhere, test } from "./fixture";

test("keys open pages, the menu and the list of keys, and can be turned off", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByRole("heading", { level: 1, name: "Home" })).toBeFocused();
  await page.keyboard.press("g");
  await page.keyboard.press("t");
  await expect(page.getByRole("heading", { level: 1, name: "Toolsets" })).toBeFocused();
  await page.getByRole("searchbox").waitFor();
  await page.keyboard.press("/");
  await expect(page.getByRole("searchbox")).toBeFocused();
  await page.keyboard.type("c?gt"); // Typed, not obeyed.
  await expect(page.getByRole("searchbox")).toHaveValue("c?gt");

  await page.keyboard.press("Control+k");
  const menu = page.getByRole("dialog", { name: "Go to" });
  await expect(menu.getByRole("combobox")).toBeFocused();
  await page.keyboard.type("demo");
  await expect(menu.getByRole("option", { selected: true })).toHaveCount(1);
  await expectAccessibleEverywhere(page, "menu");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/toolsets\/demo$/);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("zzqxv");
  await expect(menu.getByText("Nothing is called so.")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(menu).toBeHidden();

  await page.keyboard.press("?");
  const keys = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expectAccessibleEverywhere(page, "keys");
  await keys.getByRole("checkbox").uncheck();
  await page.keyboard.press("Escape");
  await expect(keys).toBeHidden();
  await page.keyboard.press("c");
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await expect(page).toHaveURL(/\/toolsets\/demo$/);
  await page.getByRole("button", { name: "Go to" }).click();
  await page.keyboard.type("shortcuts");
  await page.keyboard.press("Enter");
  await keys.getByRole("checkbox").check();
});

test("toolsets are paused together, and resumed", async ({ page }) => {
  await page.goto("/toolsets");
  await page.getByRole("checkbox", { name: "Choose Demo" }).check();
  await page.getByRole("button", { name: "Pause 1 toolset" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("The API moves");
  await expect(dialog.getByText("sluice toolset pause demo --reason 'The API moves'")).toBeVisible();
  await dialog.getByRole("button", { name: "Pause" }).click();
  await page.getByLabel("Status", { exact: true }).selectOption("Paused");
  await page.getByRole("link", { name: "Demo" }).click();
  await expect(page.getByText("every caller is refused, and reads “The API moves”.")).toBeVisible();
  await expectAccessibleEverywhere(page, "paused");
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(page.getByText("every caller is refused")).toBeHidden();
  await page.getByRole("button", { name: "Pause" }).click();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(dialog).toBeHidden();
});
