import { expect, expectAccessible, expectAccessibleEverywhere, test } from "./fixture";

const pages = [
  { path: "/", heading: "Home", shows: "Recent deploys" },
  { path: "/toolsets", heading: "Toolsets", shows: "sluice toolset list" },
  { path: "/toolsets/demo", heading: "Demo", shows: "Last test" },
  { path: "/toolsets/demo/tools", heading: "Demo", shows: "list_my_issues" },
  { path: "/toolsets/bridged/connectors", heading: "Bridged", shows: "a program on this node" },
  { path: "/toolsets/demo/plugins", heading: "Demo", shows: "They run on an answer in this order" },
  { path: "/toolsets/demo/optimizations", heading: "Demo", shows: "Tools that agents list" },
  { path: "/toolsets/refused/authentication", heading: "Refused", shows: "X-Key: ••••" },
  { path: "/toolsets/demo/access", heading: "Demo", shows: "No token was made yet." },
  { path: "/toolsets/demo/workflows", heading: "Demo", shows: "No workflows" },
  { path: "/toolsets/demo/settings", heading: "Demo", shows: "Limits and policy of answers" },
  { path: "/toolsets/demo/revisions", heading: "Demo", shows: "Its test passed" },
  { path: "/alerts", heading: "Alerts", shows: "refuses the credential of toolset refused" },
  { path: "/alerts/history", heading: "Alerts", shows: "sluice alert list --state resolved" },
  { path: "/alerts/rules", heading: "Alerts", shows: "upstream.auth_failed" },
  { path: "/alerts/channels", heading: "Alerts", shows: "Nobody is notified of alerts" },
  { path: "/alerts/deliveries", heading: "Alerts", shows: "sluice notify deliveries" },
  { path: "/alerts/alert_nothing", heading: "Alert", shows: "there is no alert" },
  { path: "/catalog", heading: "Catalog", shows: "Prometheus Alertmanager" },
  { path: "/catalog/github", heading: "GitHub", shows: "It is made at" },
  { path: "/catalog/paypal", heading: "PayPal", shows: "You log in at the service" },
  { path: "/catalog/nope", heading: "nope", shows: "req_" },
  { path: "/catalog/requests", heading: "Catalog", shows: "Acme CRM" },
  { path: "/catalog/requests/new", heading: "Request a connector", shows: "Nothing alike so far." },
  { path: "/analytics", heading: "Analytics", shows: "Where the time goes" },
  { path: "/analytics/errors", heading: "Analytics", shows: "http_401" },
  { path: "/analytics/calls", heading: "Analytics", shows: "list_things" },
  { path: "/plugins", heading: "Plugins", shows: "mask" },
  { path: "/plugins/mask", heading: "mask", shows: "Golden cases" },
  { path: "/plugins/nope", heading: "nope", shows: "req_" },
  { path: "/settings", heading: "Settings", shows: "This one" },
  { path: "/settings/tokens", heading: "Settings", shows: "API tokens" },
  { path: "/settings/edges", heading: "Settings", shows: "No edge has joined." },
  { path: "/settings/domains", heading: "Settings", shows: "There are no domains." },
  { path: "/settings/addresses", heading: "Settings", shows: "127.0.0.1" },
  { path: "/settings/publishers", heading: "Settings", shows: "Ada" },
  { path: "/settings/transfer", heading: "Settings", shows: "Export of the workspace" },
  { path: "/settings/node", heading: "Settings", shows: "Readiness" },
  { path: "/settings/audit", heading: "Settings", shows: "toolset.deploy" },
  { path: "/settings/about", heading: "Settings", shows: "Version of the node" },
  { path: "/reference?tag=Domains", heading: "API reference", shows: "Ask DNS about a domain" },
  { path: "/reference/create-toolset", heading: "Create a toolset from an OpenAPI specification", shows: "It changes something" },
  { path: "/reference/nope", heading: "nope", shows: "All operations" },
  { path: "/nothing-here", heading: "There is no such page", shows: "Go to" },
];

// A browser loads the console once for the pages of a section, as its user does; that each address loads it is asked for beside.
const sectionOf = (path: string) => path.split(/[/?]/)[1] ?? "";
for (const section of new Set(pages.map(({ path }) => sectionOf(path)))) {
  const of = pages.filter(({ path }) => sectionOf(path) === section);
  test(`every page below /${section} is accessible in every theme and as wide as the window`, async ({ page }) => {
    test.setTimeout(60_000 * of.length);
    await page.goto(of[0]?.path ?? "/");
    for (const { path, heading, shows } of of) {
      await test.step(path, async () => {
        const loaded = await page.request.get(path, { headers: { Accept: "text/html" } });
        expect(loaded.headers()["content-type"], path).toContain("text/html");
        await page.evaluate((to) => history.pushState({}, "", to), path);
        await expect(page.getByRole("heading", { level: 1, name: heading }), path).toBeVisible();
        await expect(page.getByText(shows).first(), path).toBeVisible();
        await expectAccessibleEverywhere(page, path.replaceAll("/", "_"));
      });
    }
  });
}

test("a toolset URL opened in a browser is accessible", async ({ page, browser }) => {
  await page.goto("/toolsets/demo");
  const url = await page.getByText(/^http:.*\/t\/demo$/).first().innerText();
  const stranger = await browser.newPage(); // Of another origin, and without the session.
  await stranger.goto(url);
  await expect(stranger.getByRole("heading", { level: 1, name: "Demo" })).toBeVisible();
  await stranger.getByText("Cursor", { exact: true }).click();
  await expect(stranger.getByRole("link", { name: "Add it to Cursor" })).toHaveAttribute("href", /^cursor:/);
  await expectAccessibleEverywhere(stranger, "toolset-url");
  await stranger.close();
});

test("a key that is set is shown in the list", async ({ page }) => {
  await page.goto("/toolsets");
  await expect(page.getByRole("row", { name: /^Choose Refused/ }).getByText("Set", { exact: true })).toBeVisible();
});

test("the chosen theme stays", async ({ page }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await page.goto("/");
  await page.getByLabel("Theme").selectOption("Dark");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});

test("a lost toolset is a problem with the id of its request", async ({ page }) => {
  await page.goto("/toolsets/nope");
  await expect(page.getByRole("alert")).toContainText('There is no toolset "nope"');
  await expect(page.getByRole("alert")).toContainText(/req_[0-9A-Z]{26}/);
});

test("tools are found by a word and disabled", async ({ page }) => {
  await page.goto("/toolsets/demo/tools");
  await page.getByRole("searchbox").fill("comment");
  await expect(page.getByRole("status").filter({ hasText: "of 20 tools" })).toBeVisible();
  await expect(page.getByText("list_my_issues")).toHaveCount(0);
  const box = page.getByRole("checkbox", { name: "delete_comment is enabled" });
  await box.click();
  await expect(page.getByText("Draft changed")).toBeVisible();
  await expect(box).not.toBeChecked();
  await box.click();
  await expect(page.getByText("Draft changed")).toHaveCount(0);
});

test("without a session there is the sign-in page only", async ({ browser, baseURL }) => {
  const context = await browser.newContext({ baseURL, storageState: { cookies: [], origins: [] } });
  const page = await context.newPage();
  await page.goto("/toolsets");
  await expect(page.getByRole("heading", { level: 1, name: "Sign in" })).toBeVisible();
  await expectAccessible(page);
  await page.getByLabel("E-mail").fill("nobody@example.com");
  await page.getByLabel("Password").fill("never set by anybody");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText(/req_/);
  await context.close();
});
