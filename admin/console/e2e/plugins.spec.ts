import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, expectAccessibleEverywhere, test } from "./fixture";

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

// TestConsole signed a plugin with a key that nobody trusts yet.
const signed = process.env.SLUICE_E2E_PLUGIN ?? "";

test("a publisher is trusted, and their plugin published and bound", async ({ page }) => {
  const publish = async () => {
    await page.goto("/plugins");
    await page.getByRole("button", { name: "Publish a plugin" }).click();
    await page.getByRole("button", { name: "Publish it" }).click();
    await expect(page.getByText("Choose the module.")).toBeVisible();
    await page.getByLabel("Module").setInputFiles(join(signed, "thread.wasm"));
    await page.getByLabel("Signature").setInputFiles(join(signed, "thread.wasm.sig"));
    await page.getByLabel("Golden cases").setInputFiles(readdirSync(join(signed, "testdata")).map((name) => join(signed, "testdata", name)));
    await page.getByRole("button", { name: "Publish it" }).click();
  };
  await publish();
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText(/req_/);

  await page.goto("/settings/publishers");
  await page.getByRole("button", { name: "Trust a publisher" }).click();
  await page.getByLabel("Name").fill("Grace");
  await page.getByLabel("File of the public key").setInputFiles(`${signed}.key.pub`);
  await expect(page.getByRole("textbox", { name: "Public key" })).toHaveValue(/BEGIN PUBLIC KEY/);
  await page.getByRole("button", { name: "Trust it" }).click();
  await expect(page.getByRole("row", { name: /Grace/ }).getByText("Trusted")).toBeVisible();
  await publish();
  await expect(page.getByRole("heading", { level: 1, name: "thread" })).toBeVisible();

  // It is bound with the calls that it makes, in an order.
  await page.goto("/toolsets/demo/plugins");
  const dialog = page.getByRole("dialog");
  const bind = async (plugin: string) => {
    await page.getByRole("button", { name: "Bind a plugin" }).click();
    await dialog.getByLabel("Plugin", { exact: true }).selectOption({ value: plugin });
  };
  await bind("mask");
  await dialog.getByLabel("For").selectOption("One tool");
  await dialog.getByRole("combobox", { name: "Tool" }).fill("get_issue");
  await dialog.getByLabel("Configuration", { exact: true }).fill("no json");
  await dialog.getByRole("button", { name: "Bind it" }).click();
  await expect(dialog.getByText("Write a JSON object.")).toBeVisible();
  await dialog.getByLabel("Configuration", { exact: true }).fill("");
  await expectAccessibleEverywhere(page, "bind-plugin");
  await dialog.getByRole("button", { name: "Bind it" }).click();
  const order = page.getByRole("list", { name: "Plugins in the order they run" }).getByRole("listitem");
  await expect(order).toHaveText([/^1\.mask@\S+for the tool get_issue/]);
  await bind("thread");
  await expect(dialog.getByLabel("Tool that it calls as get_issue")).toBeVisible();
  await dialog.getByRole("button", { name: "Bind it" }).click();
  await expect(order).toHaveText([/^1\.mask/, /^2\.thread.*offers/i]);
  await page.getByRole("button", { name: "Run thread for all tools earlier" }).click();
  await expect(order).toHaveText([/^1\.thread/, /^2\.mask/]);

  // Somebody else binds something meanwhile: that stays.
  const headers = { "Sec-Fetch-Site": "same-origin", "If-Match": "*" };
  const other = await page.request.put("/v1/toolsets/demo/plugins", { headers, data: { bindings: [{ plugin: "thread" }, { plugin: "mask", tool: "get_issue" }, { plugin: "mask", tool: "list_comments" }] } });
  expect(other.status(), await other.text()).toBe(200);
  await page.getByRole("button", { name: "Change mask for the tool get_issue" }).click();
  await dialog.getByLabel("When it fails").selectOption("The answer goes on as the plugin got it");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(order).toHaveCount(3);
  await expect(order.nth(1)).toContainText("On a failure: the answer goes on");
  await expect(page.getByText("A deploy of the draft changes it.")).toBeVisible();

  // What it got and made of an answer is seen in the playground.
  await page.goto("/playground");
  await page.getByLabel("Toolset").selectOption("demo");
  await expect(page).toHaveURL(/toolset=demo/);
  await page.getByLabel("Tool", { exact: true }).fill("get_issue");
  await page.getByLabel("Tool", { exact: true }).press("Enter");
  for (const [name, value] of [["owner", "acme"], ["repo", "anvil"], ["issue_number", "23"]] as const) await page.getByLabel(`${name} (required)`).fill(value);
  await page.getByLabel("Deploy a changed draft when it passes").uncheck();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("tab", { name: "Plugins" }).click();
  const ran = page.getByRole("region", { name: "Plugins that ran" });
  await expect(ran.getByRole("row", { name: /^mask@/ })).toContainText("No");
  await expect(page.getByText(/^sluice plugin capture demo get_issue /)).toBeVisible();
  await expectAccessibleEverywhere(page, "playground-plugins");
  await page.goto("/toolsets/demo/plugins");
  for (const name of ["mask from the tool get_issue", "mask from the tool list_comments", "thread from all tools"]) {
    await page.getByRole("button", { name: `Unbind ${name}` }).click();
    await dialog.getByRole("button", { name: "Unbind" }).click();
    await expect(page.getByRole("button", { name: `Unbind ${name}` })).toHaveCount(0);
  }

  await page.goto("/settings/publishers");
  await page.getByRole("button", { name: "Revoke the key of Grace" }).click();
  await dialog.getByLabel("Why").fill("its laptop was stolen");
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await expect(dialog.getByText("1 version yanked. No toolset binds one of them.")).toBeVisible();
  await dialog.getByRole("button", { name: "Close" }).click();
  await expect(page.getByRole("row", { name: /Grace/ }).getByText("Revoked")).toBeVisible();
});
