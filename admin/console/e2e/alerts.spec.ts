import { expect, expectAccessibleEverywhere, test } from "./fixture";

// TestConsole made the toolset "refused", whose upstream refuses its key, and called it.
const hook = process.env.SLUICE_E2E_HOOK ?? "";

test("an alert is told to a channel, acknowledged and snoozed", async ({ page }) => {
  await page.goto("/alerts/channels");
  await page.getByRole("button", { name: "Add a channel" }).click();
  await page.getByLabel("Name").fill("ops");
  await page.getByLabel("URL").fill("ftp://hooks.example");
  await page.getByLabel("Kinds").fill("upstream.*");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await expect(page.getByRole("dialog").getByRole("alert")).toBeVisible();
  await page.getByLabel("URL").fill(hook);
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await expect(page.getByRole("region", { name: "the signing secret" })).toContainText("whsec_");
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Send a test to ops" }).click();
  await expect(page.getByText("Sent: see Deliveries")).toBeVisible();

  await page.getByRole("link", { name: "Deliveries" }).click();
  await page.getByRole("button", { name: /^test of/ }).click();
  const dialog = page.getByRole("dialog", { name: "Message test" });
  await expect(dialog.getByText("Delivered")).toBeVisible();
  await dialog.getByRole("button", { name: "Send again" }).click();
  await expect(dialog.getByText("It is sent again.")).toBeVisible();
  await dialog.getByRole("button", { name: "Close" }).click();

  await page.getByRole("link", { name: "Rules" }).click();
  await page.getByRole("button", { name: "Send a test of upstream.auth_failed" }).click();
  await expect(page.getByText("Sent: see Deliveries")).toBeVisible();

  await page.getByRole("link", { name: "Active" }).click();
  await page.getByRole("link", { name: /refuses the credential of toolset refused/ }).click();
  await expect(page.getByText("X-Key: ••••")).toBeVisible();
  await page.getByRole("button", { name: "Acknowledge" }).click();
  await page.getByLabel("Note").fill("Calling the vendor");
  await page.getByRole("dialog").getByRole("button", { name: "Acknowledge" }).click();
  await expect(page.getByText("Calling the vendor")).toBeVisible();
  await page.getByRole("button", { name: "Snooze" }).click();
  await page.getByLabel("For", { exact: true }).selectOption("1 day");
  await page.getByRole("dialog").getByRole("button", { name: "Snooze" }).click();
  await expect(page.getByText(/Snoozed until/)).toBeVisible();
});

test("an own rule over callers is added, tried, changed, switched off and removed", async ({ page }) => {
  await page.goto("/alerts/rules");
  await page.getByRole("button", { name: "Add a rule" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a rule" });
  await dialog.getByLabel("Name").fill("busy-caller");
  await dialog.getByLabel("An alert for").selectOption("Each caller");
  await dialog.getByLabel("Measured").selectOption("Calls");
  await dialog.getByLabel("An alert from").fill("1000");
  await dialog.getByLabel("Window").selectOption("24 hours");
  await dialog.getByLabel("Tool", { exact: true }).fill("list");
  await expectAccessibleEverywhere(page, "rule-add");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await expect(dialog.getByText(/by tool is looked at over an hour at most/).first()).toBeVisible();
  await dialog.getByLabel("Tool", { exact: true }).fill("");
  await dialog.getByLabel("Connector", { exact: true }).fill("things");
  await dialog.getByLabel("Window").selectOption("1 hour");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  const row = page.getByRole("row", { name: /busy-caller/ });
  await expect(row).toContainText("1000 calls");
  await expect(row).toContainText("Each caller");

  await row.getByRole("button", { name: "Try the rule busy-caller" }).click();
  await expect(page.getByRole("dialog")).toContainText("It would have reported nothing in the last 24 hours.");
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await row.getByRole("button", { name: "Change the rule busy-caller" }).click();
  const change = page.getByRole("dialog", { name: "Change the rule busy-caller" });
  await expect(change.getByLabel("Window")).toHaveValue("1h");
  await expectAccessibleEverywhere(page, "rule-change");
  await change.getByLabel("An alert from").fill("2000");
  await change.getByRole("button", { name: "Save" }).click();
  await expect(row).toContainText("2000 calls");
  await expect(row).toContainText("connector things");
  await row.getByRole("button", { name: "Switch the rule busy-caller off" }).click();
  await expect(row).toContainText("Off");
  await row.getByRole("button", { name: "Switch the rule busy-caller on" }).click();
  await expect(row).toContainText("On");
  await row.getByRole("button", { name: "Remove the rule busy-caller" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(row).toHaveCount(0);
});

test("a channel is switched off, gets a new secret and is removed", async ({ page }) => {
  await page.goto("/alerts/channels");
  await page.getByRole("button", { name: "Switch ops off" }).click();
  await expect(page.getByText(/^Off: /)).toBeVisible();
  await page.getByRole("button", { name: "Switch ops on" }).click();
  await expect(page.getByText("On", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Change the digest of ops" }).click();
  await page.getByLabel("What is not critical").selectOption("In one message a day");
  await page.getByLabel("At", { exact: true }).fill("17:30");
  await page.getByLabel("Time zone").fill("Nowhere/At-all");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("dialog").getByText(/there is no time zone/).first()).toBeVisible();
  await page.getByLabel("Time zone").fill("Europe/Berlin");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("digest daily 17:30 Europe/Berlin")).toBeVisible();
  await page.getByRole("button", { name: "Give ops a new secret" }).click();
  await page.getByRole("button", { name: "Make a new secret" }).click();
  await expect(page.getByRole("region", { name: "the signing secret" })).toContainText("whsec_");
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Remove ops" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(page.getByText("Nobody is notified of alerts")).toBeVisible();
});
