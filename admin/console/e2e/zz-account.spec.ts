import { expect, expectAccessibleEverywhere, test } from "./fixture";

// Its file is the last one by name: it ends the session of the tests before.
test("the first administrator makes an account and signs in with its password", async ({ browser, page, baseURL }) => {
  await page.goto("/settings");
  await page.getByLabel("Name").fill("Ada Lovelace");
  await page.getByLabel("E-mail").fill("ada@example.com");
  await page.getByLabel("Password").fill("correct horse battery");
  await page.getByRole("button", { name: "Make the account" }).click();
  await expect(page.getByText("Ada Lovelace").first()).toBeVisible();
  await expect(page.getByLabel("Current password")).toBeVisible();
  await expect(page.getByText("Passkeys belong to a host name")).toBeVisible(); // The tests are at an address.

  const context = await browser.newContext({ baseURL, storageState: { cookies: [], origins: [] } });
  const other = await context.newPage();
  await other.goto("/settings");
  await other.getByLabel("E-mail").fill("ada@example.com");
  await other.getByLabel("Password").fill("correct horse battery");
  await other.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(other.getByRole("heading", { level: 1, name: "Settings" })).toBeVisible();
  await other.getByRole("button", { name: "Sign out" }).click();
  await expect(other.getByRole("heading", { level: 1, name: "Sign in" })).toBeVisible();
  await context.close();
});

test("a member signs in with a passkey, which is refused once it may be copied", async ({ browser, baseURL }) => {
  const context = await browser.newContext({ baseURL: baseURL?.replace("127.0.0.1", "localhost"), storageState: { cookies: [], origins: [] } });
  const page = await context.newPage();
  const device = await context.newCDPSession(page);
  await device.send("WebAuthn.enable");
  const { authenticatorId } = await device.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  await page.goto("/settings");
  await page.getByLabel("E-mail").fill("ada@example.com");
  await page.getByLabel("Password").fill("correct horse battery");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("button", { name: "Make a passkey" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("Laptop");
  await page.getByLabel("Your password").fill("not the password");
  await page.getByRole("button", { name: "Make it" }).click();
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("The current password is wrong");
  await expectAccessibleEverywhere(page, "passkey-make");
  await page.getByLabel("Your password").fill("correct horse battery");
  await page.getByRole("button", { name: "Make it" }).click();
  await expect(page.getByRole("row", { name: /Laptop/ })).toContainText("Never");
  await page.getByRole("button", { name: "Rename the passkey Laptop" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("Old laptop");
  await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
  await expect(page.getByRole("row", { name: /Old laptop/ })).toBeVisible();

  const signOut = async () => {
    await page.getByRole("button", { name: "Sign out" }).click();
    await expect(page.getByRole("heading", { level: 1, name: "Sign in" })).toBeVisible();
  };
  const withPasskey = page.getByRole("button", { name: "Sign in with a passkey" });
  await signOut();
  await expectAccessibleEverywhere(page, "sign-in-passkey");
  await withPasskey.click();
  await page.getByRole("link", { name: "Settings" }).click();
  await expect(page.getByRole("row", { name: /Old laptop/ })).toContainText("On one device");
  await signOut();
  const { credentials } = await device.send("WebAuthn.getCredentials", { authenticatorId });
  for (const credential of credentials) {
    await device.send("WebAuthn.removeCredential", { authenticatorId, credentialId: credential.credentialId });
    await device.send("WebAuthn.addCredential", { authenticatorId, credential: { ...credential, signCount: 0 } });
  }
  await withPasskey.click();
  await expect(page.getByRole("alert")).toContainText("there may be a copy of it");
  await page.getByLabel("E-mail").fill("ada@example.com");
  await page.getByLabel("Password").fill("correct horse battery");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("link", { name: "Settings" }).click();
  await expect(page.getByText("May be copied", { exact: true })).toBeVisible();
  await expectAccessibleEverywhere(page, "passkeys");
  await page.getByRole("button", { name: "Remove the passkey Old laptop" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(page.getByText("You have none.")).toBeVisible();
  await context.close();
});
