import { expect, expectAccessible, expectAccessibleEverywhere, test } from "./fixture";

// TestConsole makes the toolset articles, whose answers lack the member api_url: it is the address of an API.
test("from an answer without a member to the deployed correction", async ({ page }, info) => {
  await page.goto("/");
  const begun = Date.now();
  await page.getByRole("link", { name: "Playground" }).click();
  await page.getByLabel("Toolset").selectOption("articles");
  await expect(page).toHaveURL(/toolset=articles/);
  await page.getByLabel("Tool", { exact: true }).fill("lsar");
  await page.getByLabel("Tool", { exact: true }).press("Enter");
  await page.getByLabel("topic (required)").fill("tides");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByText("HTTP 200")).toBeVisible();
  await expect(page.getByRole("region", { name: "the answer" })).not.toContainText("news.example");
  await page.getByRole("tab", { name: "Before / after" }).click();
  await page.getByRole("button", { name: "api_url, left out" }).first().click();
  await page.getByRole("button", { name: "Keep this" }).click();
  await expect(page.getByText("Passed, deployed")).toBeVisible();
  await page.getByRole("tab", { name: "Answer" }).click();
  await expect(page.getByRole("region", { name: "the answer" })).toContainText("news.example");
  const took = (Date.now() - begun) / 1000;
  info.annotations.push({ type: "seconds", description: took.toFixed(1) });
  console.log(`from a missing member to the deployed correction: 10 inputs, ${took.toFixed(1)} s of the browser and the node`);
  await expect(page.getByRole("region", { name: "the answer" })).not.toContainText("nothing for an agent");
  await expectAccessibleEverywhere(page, "playground-answer");

  await page.getByRole("tab", { name: "Before / after" }).click();
  await expect(page.getByRole("button", { name: "node_id, left out" }).first()).toBeVisible();
  await page.getByRole("button", { name: "title", exact: true }).first().click();
  await expect(page.getByRole("button", { name: "Drop this" })).toBeVisible();
  await expectAccessibleEverywhere(page, "playground-before-after");
  await page.getByRole("tab", { name: "Timing" }).click();
  await expect(page.getByRole("cell", { name: "Call the API" })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("tab", { name: "Plugins" }).click();
  await expect(page.getByText("No plugin ran.")).toBeVisible();
  await expect(page.getByText(/^sluice plugin capture \S+ list_articles --args /)).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("tab", { name: "Request" }).click();
  await expect(page.getByRole("region", { name: "the request", exact: true })).toContainText("topic=tides");
  await expect(page.getByRole("region", { name: "the request", exact: true })).toContainText("X-Key: ••••");
  await expect(page.locator("body")).not.toContainText("the key of the stand-in");
  await expectAccessible(page);
  await page.getByRole("tab", { name: "Agent view" }).click();
  await page.getByRole("searchbox", { name: "Search as an agent does" }).fill("articles about a topic");
  await page.getByRole("searchbox", { name: "Search as an agent does" }).press("Enter");
  await expect(page.getByRole("list", { name: "Tools found" })).toContainText("list_articles");
  await expectAccessibleEverywhere(page, "playground-agent-view");

  // The address has the tool and its arguments.
  await page.reload();
  await expect(page.getByLabel("topic (required)")).toHaveValue("tides");
  await page.getByRole("button", { name: "As JSON" }).click();
  await expect(page.getByLabel("Arguments, as JSON")).toHaveValue(/"topic": "tides"/);
  await page.getByLabel("Arguments, as JSON").fill("tides");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByText("Write a JSON object.")).toBeVisible();
  await page.getByRole("button", { name: /articles list_articles passed/ }).first().click();
  await expect(page.getByLabel("topic (required)")).toHaveValue("tides");
});

test("a toolset that somebody else changed meanwhile is not changed", async ({ page }) => {
  await page.goto(`/playground?toolset=articles&tool=list_articles&args=${encodeURIComponent('{"topic":"tides"}')}`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("tab", { name: "Before / after" }).click();
  await page.getByRole("button", { name: "title", exact: true }).first().click();
  const etag = (await page.request.get("/v1/toolsets/articles", { headers: { "Sec-Fetch-Site": "same-origin" } })).headers()["etag"] ?? "";
  const other = await page.request.patch("/v1/toolsets/articles/tools/list_articles", {
    headers: { "If-Match": etag, "Content-Type": "application/merge-patch+json", "Sec-Fetch-Site": "same-origin" },
    data: { description: "Changed by somebody else" },
  });
  expect(other.status()).toBe(200);
  await page.getByRole("button", { name: "Drop this" }).click();
  await expect(page.getByRole("alert")).toContainText(/changed/);
  await expect(page.getByRole("alert").getByRole("button", { name: "Try again" })).toBeVisible();
});

test("a tool that is entered before the tools are read is chosen once they are", async ({ page }) => {
  let read = () => {};
  const wanted = new Promise<void>((resolve) => (read = resolve));
  await page.route(/\/v1\/toolsets\/articles\/tools\b/, async (route) => {
    await wanted;
    await route.continue();
  });
  await page.goto("/playground?toolset=articles");
  await page.getByLabel("Tool", { exact: true }).fill("lsar");
  await page.getByLabel("Tool", { exact: true }).press("Enter");
  await expect(page.getByRole("list", { name: "Tools that fit" })).toContainText("Reading the tools");
  read();
  await expect(page.getByLabel("topic (required)")).toBeVisible();
  await expect(page.getByLabel("Tool", { exact: true })).toHaveValue("list_articles");
});

// Bridged has the tools of demo. What was chosen last counts, also when the page does not show it yet.
test("a tool is one of the toolset that was chosen last", async ({ page }) => {
  await page.goto("/playground?toolset=bridged");
  await page.getByLabel("Tool", { exact: true }).fill("get_issue");
  const fits = page.getByRole("list", { name: "Tools that fit" }).getByRole("button", { name: "get_issue", exact: true });
  await expect(fits).toBeVisible();
  await fits.evaluate((button: HTMLButtonElement) => {
    const select = document.querySelector<HTMLSelectElement>("main select");
    if (!select) throw new Error("there is no list of toolsets");
    select.value = "demo";
    select.dispatchEvent(new Event("change", { bubbles: true }));
    button.click();
  });
  await expect(page).toHaveURL(/toolset=demo&tool=get_issue$/);
  await expect(page.getByLabel("owner (required)")).toBeVisible();
});
