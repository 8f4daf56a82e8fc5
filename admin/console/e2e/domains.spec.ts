import { expect, expectAccessible, expectAccessibleEverywhere, test } from "./fixture";

/** Makes a record of the DNS server that the node asks. */
const record = (query: Record<string, string>) => fetch(`${process.env.SLUICE_E2E_DNS}?${new URLSearchParams(query)}`, { method: "POST" });

test("a domain is added, proven and removed", async ({ page }) => {
  const host = "tools.example.com";
  await page.goto("/toolsets/demo/domains");
  await expect(page.getByText("The toolset has no domains.")).toBeVisible();
  await page.getByRole("button", { name: "Add a domain" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Host name").fill(`https://${host}/`);
  await dialog.getByRole("button", { name: "Add it" }).click();
  await expect(dialog.getByRole("alert")).toContainText("Write the host name alone, without https:// and path");
  await dialog.getByLabel("Host name").fill(host);
  await expect(dialog.getByText(`sluice toolset domain demo add ${host}`)).toBeVisible();
  await dialog.getByRole("button", { name: "Add it" }).click();
  await expect(dialog.getByRole("heading", { name: `${host} is added` })).toBeVisible();
  const value = await dialog.getByText(/^sluice-domain=/).innerText();
  await expect(dialog.getByRole("button", { name: "Copy the value of the TXT record" })).toBeVisible();
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Close" }).click();

  const verify = page.getByRole("button", { name: `Verify now: ${host}` });
  await verify.click();
  await expect(page.getByText(`It is not verified: there is no TXT record at _sluice.${host}`)).toBeVisible();
  await expectAccessibleEverywhere(page, "domains-pending");
  await record({ txt: `_sluice.${host}`, value });
  await record({ a: host, value: "192.0.2.7" });
  await verify.click();
  await expect(page.getByText("verified", { exact: true })).toBeVisible();

  await page.goto("/settings/domains");
  await expect(page.getByRole("link", { name: "demo" })).toBeVisible();
  await page.getByRole("button", { name: `Remove ${host}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove it" }).click();
  await expect(page.getByText("There are no domains.")).toBeVisible();
});

test("the end of certificates, and why there is none, are shown", async ({ page }) => {
  const at = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  const of = (host: string, more: object) => ({ id: `dom_${host}`, host, url: `https://${host}/`, dns: [], createdBy: "tok_1", createdAt: at(-90), updatedAt: at(0), toolsetId: "ts_1", ...more });
  const certificate = (days: number) => ({ issuer: "Pebble", notBefore: at(days - 90), notAfter: at(days) });
  const items = [
    of("live.example.com", { state: "live", certificate: certificate(60), checkedAt: at(-1) }),
    of("soon.example.com", { state: "live", certificate: certificate(3), cause: "the authority cannot be reached", checkedAt: at(-1) }),
    of("issuing.example.com", { state: "issuing" }),
    of("failed.example.com", { state: "failed", cause: "the authority gave no certificate: connection refused at port 80", nextAt: at(0.01) }),
  ];
  // What takes an authority to be real: package node gets certificates from one.
  await page.route("**/v1/toolsets/demo/domains?*", (route) => route.fulfill({ json: { items } }));
  await page.goto("/toolsets/demo/domains");
  await expect(page.getByText(/^Certificate of Pebble until /).first()).toBeVisible();
  await expect(page.getByRole("link", { name: "https://live.example.com/" })).toBeVisible();
  await expect(page.getByText("It is verified and has no certificate: the authority gave no certificate: connection refused at port 80")).toBeVisible();
  await expectAccessibleEverywhere(page, "domains-states");
});
