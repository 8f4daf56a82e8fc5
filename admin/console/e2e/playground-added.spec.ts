import { expect, expectAccessible, expectAccessibleEverywhere, test } from "./fixture";

// TestConsole makes the toolset scripted, in code mode and with batch.
test("the tools that Sluice adds run in the playground: a script, its faults, a search, a batch", async ({ page }) => {
  await page.goto("/playground?toolset=scripted");
  await page.getByRole("button", { name: "search_tools", exact: true }).click();
  await page.getByLabel("query (required)").fill("articles about a topic");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByText("No API was called, so this is not a test of the draft")).toBeVisible();
  const answer = page.getByRole("region", { name: "the answer" });
  await expect(answer).toContainText("tools.articles.list_articles(args");

  await page.getByRole("button", { name: "run_code", exact: true }).click();
  const code = page.getByLabel("code (required)");
  await code.fill("const x = 1;\nreturn await tools.articles.list_artcles({topic: 'tides'});");
  await code.press("Control+Enter");
  await expect(page.getByText("Failed", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: /^Line 2, column 14: .*did you mean tools.articles.list_articles/ }).click();
  await expect(code).toBeFocused();
  expect(await code.evaluate((e: HTMLTextAreaElement) => e.selectionStart)).toBe("const x = 1;\n".length + 13);
  await expectAccessibleEverywhere(page, "playground-code-fault");
  const script = "const [a, b] = await Promise.all([tools.articles.list_articles({topic: 'tides'}), tools.articles.list_articles({topic: 'moons'})]);\nreturn a.map(x => x.title).concat(b.length);";
  await code.fill(script);
  await expect(page.getByRole("list", { name: "Faults of the script" })).toBeHidden();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByText("HTTP 200")).toBeVisible();
  await expect(answer).toContainText("Tides of the year 1990");
  await page.getByRole("tab", { name: "Timing" }).click();
  await expect(page.getByRole("cell", { name: "list_articles", exact: true })).toHaveCount(2);
  await expectAccessibleEverywhere(page, "playground-code");
  await expect(page.getByRole("tab", { name: "Before / after" })).toHaveCount(0);
  await page.getByRole("tab", { name: "Request" }).click();
  await expect(page.getByRole("region", { name: "the call", exact: true })).toContainText("sluice call scripted run_code --args");
  await expect(page.getByRole("region", { name: "the call for curl", exact: true })).toContainText('"method":"tools/call"');

  // The address has the script.
  await page.reload();
  await expect(code).toHaveValue(script);

  await page.getByRole("button", { name: "batch", exact: true }).click();
  await page.getByLabel("Tool of call 1", { exact: true }).fill("list_articles");
  await page.getByLabel("Tool of call 1", { exact: true }).press("Enter");
  await page.getByLabel("Arguments of call 1, as JSON").fill('{"topic":"tides"}');
  await page.getByRole("button", { name: "Add a call" }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByText("Choose the tool of each call")).toBeVisible();
  await page.getByLabel("Tool of call 2", { exact: true }).fill("list_articles");
  await page.getByLabel("Tool of call 2", { exact: true }).press("Enter");
  await page.getByLabel("Arguments of call 2, as JSON").fill('{"topic":"moons"}');
  await page.getByLabel("Name of answer 2").fill("moons");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(answer).toContainText("[moons list_articles]");
  await expectAccessibleEverywhere(page, "playground-batch");
  await page.getByRole("button", { name: /scripted search_tools passed/ }).first().click();
  await expect(page.getByLabel("query (required)")).toHaveValue("articles about a topic");
});

test("a script that ran becomes a tool, and is found among the workflows", async ({ page }) => {
  const code = 'return (await tools.articles.list_articles({topic: "tides"})).length;';
  await page.goto(`/playground?toolset=scripted&tool=run_code&args=${encodeURIComponent(JSON.stringify({ code }))}`);
  await expect(page.getByLabel("code (required)")).toHaveValue(code);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("button", { name: "Save as a tool" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("count_articles");
  await dialog.getByLabel("Description").fill("Counts the articles about a topic.");
  await dialog.getByLabel("Values that become arguments").fill('topic="rivers"');
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  await dialog.getByLabel("Values that become arguments").fill("topic=tides");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await dialog.getByRole("link", { name: "Test it" }).click();
  await page.getByLabel("topic", { exact: true }).fill("moons");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByText("Passed, deployed")).toBeVisible();
  await expect(page.getByRole("region", { name: "the answer" })).toContainText("12");

  await page.goto("/toolsets/scripted/workflows");
  await expect(page.getByText("Counts the articles about a topic.")).toBeVisible();
  await page.getByRole("button", { name: "Code of count_articles" }).click();
  await expect(page.getByRole("region", { name: "the code of count_articles" })).toContainText("args.topic");
  await expectAccessibleEverywhere(page, "workflows-scripts");
  await page.getByRole("button", { name: "Remove count_articles" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  await expect(page.getByText("Counts the articles about a topic.")).toBeHidden();
});
