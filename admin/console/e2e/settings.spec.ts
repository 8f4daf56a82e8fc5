import { readFileSync } from "node:fs";
import { expect, expectAccessibleEverywhere, test } from "./fixture";

test("a token of a program is made, used and revoked", async ({ page, playwright, baseURL }) => {
  await page.goto("/settings/tokens");
  await page.getByRole("button", { name: "Make a token" }).click();
  await page.getByLabel("Name").fill("nightly");
  await page.getByRole("combobox", { name: "Role" }).selectOption("Viewer: reads");
  await page.getByRole("button", { name: "Make it" }).click();
  const token = (await page.getByRole("region", { name: "the API token" }).textContent())?.trim() ?? "";
  await page.getByRole("button", { name: "Close" }).click();
  const program = await playwright.request.newContext({ baseURL: baseURL ?? "", storageState: { cookies: [], origins: [] }, extraHTTPHeaders: { Authorization: `Bearer ${token}` } });
  expect((await program.get("/v1/toolsets")).status()).toBe(200);
  await page.getByRole("button", { name: "Revoke nightly" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByRole("row", { name: /nightly/ }).getByText("Revoked")).toBeVisible();
  expect((await program.get("/v1/toolsets")).status()).toBe(401);
  await program.dispose();
});

test("a member is invited, gets another role, and is removed", async ({ page }) => {
  await page.goto("/settings");
  await page.getByRole("button", { name: "Invite" }).click();
  await page.getByRole("dialog").getByLabel("E-mail").fill("guest@example.com");
  await page.getByRole("combobox", { name: "Role" }).selectOption("Viewer: reads");
  await page.getByRole("dialog").getByRole("button", { name: "Invite" }).click();
  await page.getByRole("button", { name: "Close" }).click();
  const row = page.getByRole("row", { name: /guest@example\.com/ });
  await page.getByRole("button", { name: "Change the role of guest@example.com" }).click();
  await page.getByRole("combobox", { name: "Role" }).selectOption("Publisher: connectors and plugins too");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(row.getByRole("cell", { name: "publisher", exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Remove guest@example.com" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(row).toHaveCount(0);
  await page.goto("/settings/audit");
  await expect(page.getByRole("row", { name: /token\.revoke nightly/ }).first()).toBeVisible(); // of the test before
});

test("a node is let in as an edge", async ({ page }) => {
  await page.goto("/settings/edges");
  await page.getByRole("button", { name: "Make a join token" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("rack 7");
  await page.getByLabel("Labels").fill("region");
  await page.getByRole("button", { name: "Make it" }).click();
  await expect(page.getByText("Write NAME=VALUE, with blanks between several.")).toBeVisible();
  await page.getByLabel("Labels").fill("region=eu");
  await page.getByRole("button", { name: "Make it" }).click();
  await expect(page.getByRole("region", { name: "the command that joins" })).toContainText("--role edge --control-plane http");
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Revoke rack 7" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByRole("row", { name: /rack 7/ }).getByText("Revoked")).toBeVisible();
});

test("the audit log is read, verified, filtered and saved", async ({ page }) => {
  await page.goto("/settings/audit");
  await page.getByRole("button", { name: "Verify it" }).click();
  await expect(page.getByText(/^\d+ records, nothing is missing or changed\.$/)).toBeVisible();
  await page.getByRole("button", { name: /: toolset\.deploy$/ }).first().click();
  await expect(page.getByRole("dialog").getByText("Hash")).toBeVisible();
  await expectAccessibleEverywhere(page, "audit-record");
  await page.getByRole("link", { name: "Only this resource" }).click();
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(page.getByLabel("Resource", { exact: true })).toHaveValue(/^ts_/);
  await page.getByRole("button", { name: "Show all" }).click();

  await page.getByLabel("Actor", { exact: true }).selectOption("local administrator");
  await page.getByLabel("Action", { exact: true }).fill("toolset.");
  await page.getByLabel("Resource", { exact: true }).fill("EMO");
  await page.getByLabel("From", { exact: true }).fill("2020-02-29");
  await page.getByRole("button", { name: "Filter" }).click();
  const log = page.getByRole("region", { name: "Audit log" });
  await expect(log.getByRole("row", { name: /toolset\.deploy demo local administrator/ }).first()).toBeVisible();
  await expect(log.getByText(/^(session|token|grant)\./)).toHaveCount(0);
  await expect(log.getByText("refused", { exact: true })).toHaveCount(0);
  await expect(page.getByText(/^sluice audit list --filter 'actor:"tok_\w+" action:toolset\.\* resourceName:"EMO" time:>=2020-02-2/)).toBeVisible();
  const sheet = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as CSV" }).click();
  expect(readFileSync(await (await sheet).path(), "utf8")).toMatch(/^seq,id,time,action,.*\r\n\d+,aud_\w+,[^,]+,toolset\.\w+,ts_\w+,demo,token,tok_\w+,local administrator,/);
  await page.getByLabel("To", { exact: true }).fill("2020-03-01");
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(page.getByText(/^No matching records\./)).toBeVisible();
});
