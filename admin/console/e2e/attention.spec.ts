import { expect, expectAccessibleEverywhere, test } from "./fixture";

// TestConsole serves a specification that changes when it is told to.
const source = new URL("/changing.yaml", process.env.SLUICE_E2E_HOOK).href;

test("a toolset says what needs attention, and a change that waits is accepted", async ({ page }) => {
  const headers = { "Sec-Fetch-Site": "same-origin" };
  const made = await page.request.post("/v1/toolsets", { headers, data: { name: "Changing", source: { openapi: { url: source } }, test: { tool: "get_status" }, deploy: {} } });
  expect([200, 201, 202]).toContain(made.status());
  await page.goto("/toolsets/changing");
  await expect(page.getByRole("heading", { name: "Changing" })).toBeVisible();
  await expect(page.getByText(/ of the source (is|are) written for a model, not for a reader\.$/)).toBeVisible();
  await page.getByText("Show them").click();
  await expect(page.getByText(/ignore all previous instructions/).first()).toBeVisible();

  // A plugin is bound to the tool that is gone then.
  const bound = await page.request.put("/v1/toolsets/changing/plugins", { headers: { ...headers, "If-Match": "*" }, data: { bindings: [{ plugin: "mask", tool: "get_gone" }] } });
  expect(bound.status(), await bound.text()).toBe(200);
  const live = await page.request.post("/v1/toolsets/changing/test", { headers, data: { tool: "get_status" } });
  expect([200, 202]).toContain(live.status());
  await page.goto("/toolsets/changing/settings");
  await page.getByRole("button", { name: "Show what would change" }).click();
  await expect(page.getByText("It is as it was.")).toBeVisible();
  await page.goto("/toolsets/changing");

  await page.request.get(`${source}?next`);
  const held = await page.request.post("/v1/toolsets/changing/refresh", { headers, data: { hold: true } });
  expect(held.status()).toBe(200);
  await page.reload();
  await page.getByRole("button", { name: "Show what changes" }).click();
  await expect(page.getByRole("list", { name: "What changes" })).toContainText("get_gone");
  await expect(page.getByText("sluice toolset accept changing")).toBeVisible();
  await expectAccessibleEverywhere(page, "attention");
  await page.getByRole("button", { name: "Accept and deploy" }).click();
  await expect(page.getByText("The change of changing is taken over. It is tested and live.")).toBeVisible();
  await expect(page.getByText(/^mask \S+ waits for an operation that is not there/)).toBeVisible();
  await expect(page.getByText("sluice plugin bindings changing", { exact: true })).toBeVisible();
  await expect(page.getByText(/written for a model, not for a reader/)).toHaveCount(0);
});

test("a refused key is told on the page of its toolset, with what mends it", async ({ page }) => {
  await page.goto("/toolsets/refused");
  await expect(page.getByRole("link", { name: /refuses the credential of toolset refused/ })).toBeVisible();
  await expect(page.getByText(/^sluice toolset auth refused/)).toBeVisible();
});
