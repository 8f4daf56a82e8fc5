import { expect, expectAccessible, test } from "./fixture";

const hook = process.env.SLUICE_E2E_HOOK ?? "";

test("an entry of the catalog becomes a live toolset", async ({ page }) => {
  await page.goto("/catalog");
  await page.getByRole("searchbox").fill("what is firing");
  await expect(page.getByRole("status").filter({ hasText: /^\d connectors?$/ })).toBeVisible();
  await page.getByRole("link", { name: "Prometheus Alertmanager" }).click();
  await page.getByRole("button", { name: "Add" }).click();
  await expect(page.getByLabel("Address of the API")).toBeFocused();
  await expect(page.getByText("Enter it.")).toBeVisible();
  await expectAccessible(page);

  // The document is read from a mirror, which has one of the operations only.
  await page.getByLabel("Address of the API").fill(new URL(hook).origin);
  await page.getByText("Another source").click();
  await page.getByLabel("Read the document here").fill(`${new URL(hook).origin}/alertmanager.yaml`);
  await page.getByRole("button", { name: "Add" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await page.getByLabel("Leave out tools that the document does not have").check();
  await page.getByRole("button", { name: "Add" }).click();
  await expect(page).toHaveURL(/\/toolsets\/new\/alertmanager\/review$/);
  await page.getByRole("button", { name: "Continue with 1 tool" }).click();
  await page.getByRole("button", { name: "Skip" }).click();
  await page.getByRole("button", { name: "Continue", exact: true }).click();
  await page.getByRole("button", { name: "Run the test" }).click();
  await expect(page.getByText("Passed, deployed")).toBeVisible();
  await page.getByRole("button", { name: "Connect an application" }).click();
  await expect(page.getByText("The toolset is live.")).toBeVisible();
});

test("what the catalog does not have is requested, voted for and declined", async ({ page }) => {
  await page.goto("/catalog");
  await page.getByRole("searchbox").fill("zzqxv");
  await page.getByRole("link", { name: "Request this connector" }).click();
  await expect(page.getByLabel("Service")).toHaveValue("zzqxv");
  await page.getByLabel("Service").fill("Acme CRM");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByLabel("Website")).toBeFocused();
  await expect(page.getByText("Enter an address that begins with https://.")).toHaveCount(2);
  await expectAccessible(page);
  const fill = async () => {
    await page.getByLabel("Service").fill("Acme CRM");
    await page.getByLabel("Website").fill("https://acme.example");
    await page.getByLabel("Documentation of its API").fill("https://acme.example/developers");
    await page.getByLabel("What agents shall do with it").fill("Find customers and add notes");
    await page.getByLabel("How much it would be used").fill("1,000 calls a day");
  };
  await fill();
  await page.getByRole("button", { name: "Send" }).click();
  const vote = page.getByRole("button", { name: "Vote for Acme CRM, 1 vote" });
  await expect(vote).toHaveAttribute("aria-pressed", "true");
  await vote.click();
  await expect(page.getByRole("button", { name: "Vote for Acme CRM, 0 votes" })).toHaveAttribute("aria-pressed", "false");

  await page.getByRole("link", { name: "Request a connector" }).click();
  await fill();
  await expect(page.getByText(/Alike in .*name/)).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("alert")).toContainText("asks for Acme CRM already");
  await page.getByRole("button", { name: "Send all the same" }).click();
  await expect(page.getByRole("button", { name: "Change the request for Acme CRM" })).toHaveCount(2);

  await page.getByRole("button", { name: "Change the request for Acme CRM" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("State").selectOption("Declined");
  await dialog.getByLabel("Why").fill("It has no API");
  await dialog.getByLabel("Comment").fill("We asked them");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("It has no API")).toBeVisible();
  await expect(page.getByText("We asked them")).toBeVisible();
});
