import { expect, expectAccessible, expectAccessibleEverywhere, test } from "./fixture";

test("optimizations are changed, tested and live", async ({ page }) => {
  await page.goto("/toolsets/demo/optimizations");
  await expect(page.getByText(/^Advised: /)).toBeVisible();
  await page.getByLabel("Lossless").check();
  await page.getByLabel("Token budget of an answer").fill("lots");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Write a whole number from -1 to 2,000,000.")).toBeVisible();
  await page.getByLabel("Token budget of an answer").fill("9000");
  await page.getByLabel("What the toolset is for").fill("Refund a charge of a customer");
  await expect(page.getByText(/^It lists \d+ tools?:$/)).toBeVisible();
  await expect(page.getByText(/^sluice toolset optimize demo --profile lossless --budget 9000 --use-case /)).toBeVisible();
  await page.getByLabel("Those of a use case").check();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Saved in the draft.")).toBeVisible();
  await page.getByRole("button", { name: "Test and deploy" }).click();
  await expect(page.getByText(/passed, and the draft is live\.$/)).toBeVisible();
});

test("of two who change one setting, the second one decides", async ({ page }) => {
  await page.goto("/toolsets/demo/optimizations");
  await page.getByLabel("Token budget of an answer").fill("7000");
  const headers = { "Sec-Fetch-Site": "same-origin" };
  const change = async (budget: number) => {
    const etag = (await page.request.get("/v1/toolsets/demo", { headers })).headers()["etag"] ?? "";
    const answer = await page.request.patch("/v1/toolsets/demo", {
      headers: { ...headers, "If-Match": etag, "Content-Type": "application/merge-patch+json" },
      data: { answers: { tokenBudget: budget } },
    });
    expect(answer.status()).toBe(200);
  };
  await change(8000);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Now on the node: 8000")).toBeVisible();
  await expect(page.getByText("Yours: 7000")).toBeVisible();
  await expectAccessibleEverywhere(page, "conflict");
  await page.getByRole("button", { name: "Save mine" }).click();
  await expect(page.getByText("Saved in the draft.")).toBeVisible();

  await page.getByLabel("Token budget of an answer").fill("6000");
  await change(5000);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("button", { name: "Take theirs" }).click();
  await expect(page.getByLabel("Token budget of an answer")).toHaveValue("5000");
});

// TestConsole made the toolset "refused", whose upstream refuses its key.
test("a key that is refused is replaced, without being shown", async ({ page }) => {
  await page.goto("/toolsets/refused/authentication");
  await page.getByRole("button", { name: "Test it" }).click();
  await expect(page.getByText("HTTP 401", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Replace the credential" }).click();
  await expect(page.getByLabel("Type")).toBeFocused();
  await expect(page.getByLabel("Header name")).toHaveValue("X-Key");
  await expect(page.getByLabel("API key")).toHaveValue("");
  await page.getByLabel("API key").fill("the key of the stand-in");
  await expectAccessibleEverywhere(page, "credential");
  await page.getByRole("button", { name: "Save the credential" }).click();
  await expect(page.getByLabel("API key")).toHaveCount(0);
  await page.getByRole("button", { name: "Test it" }).click();
  await expect(page.getByText("HTTP 200", { exact: true })).toBeVisible();
  await expect(page.locator("body")).not.toContainText("the key of the stand-in");

  // The form stays open while the draft changes for another reason, and another credential is added.
  await page.getByRole("button", { name: "Replace the credential" }).click();
  await page.getByRole("button", { name: "Test it" }).click();
  await expect(page.getByRole("button", { name: "Test it" })).toBeEnabled();
  await page.getByRole("button", { name: "Add a credential" }).click();
  const second = page.getByRole("group", { name: "Credential 2 of 2" });
  await second.getByLabel("Header name").fill("X-App");
  await second.getByLabel("API key").fill("another key that is long");
  await page.getByRole("button", { name: "Save the credential" }).click();
  await expect(page.getByRole("button", { name: "Save the credential" })).toHaveCount(0);
  await expect(page.getByText("X-App: ••••long", { exact: true })).toBeVisible();

  // Somebody else sets the credentials meanwhile: that is told, and yours are saved on demand.
  await page.getByRole("button", { name: "Replace the credential" }).click();
  const items = ["X-Key", "X-App"].map((headerName) => ({ authType: "header", headerName, apiKey: "the key of the stand-in" }));
  const set = await page.request.put("/v1/toolsets/refused/connectors/refused/authentication", { headers: { "Sec-Fetch-Site": "same-origin", "If-Match": "*" }, data: { authType: "list", items } });
  expect(set.status()).toBe(200);
  await page.getByRole("button", { name: "Save the credential" }).click();
  await page.getByRole("alert").getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("button", { name: "Save the credential" })).toHaveCount(0);
});

test("a tool gets another description and a suggested name", async ({ page }) => {
  await page.goto("/toolsets/refused/tools");
  await page.getByRole("button", { name: "Edit list_things" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("list things");
  await dialog.getByRole("button", { name: "Save in the draft" }).click();
  await expect(dialog.getByRole("alert")).toBeVisible();
  await expectAccessible(page);
  await dialog.getByLabel("Name").fill("list_things");
  await dialog.getByLabel("Description").fill("List things. Finds things whose title or text contains every word.");
  await dialog.getByRole("button", { name: "Save in the draft" }).click();
  await expect(dialog).toBeHidden();
  await page.getByRole("button", { name: "Suggest names and descriptions" }).click();
  await expectAccessibleEverywhere(page, "suggestions");
  await page.getByRole("button", { name: "Take it for list_things" }).click();
  await expect(page.getByText("The names and descriptions are good, or were decided.")).toBeVisible();
});

test("a draft is rolled out, and one that was set aside comes back", async ({ page }) => {
  const headers = { "Sec-Fetch-Site": "same-origin" };
  const changed = await page.request.patch("/v1/toolsets/demo", { headers: { ...headers, "If-Match": "*", "Content-Type": "application/merge-patch+json" }, data: { selection: "search", learn: true } });
  expect(changed.status()).toBe(200);
  await page.goto("/toolsets/demo/optimizations");
  await expect(page.getByText(/^None yet: a search of an agent is kept/)).toBeVisible();
  await page.getByRole("link", { name: "Revisions" }).click();
  await page.getByRole("button", { name: "Roll the draft out" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Canary").check();
  await dialog.getByLabel("Promote").selectOption("After six hours");
  await expect(dialog.getByText("sluice toolset rollout start demo --canary 10% --promote-after 6h")).toBeVisible();
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Start it" }).click();
  await expect(page.getByText(/^Canary, 10 % of the callers, since /)).toBeVisible();
  await expect(page.getByText(/^The draft is being rolled out to 10 % of the callers\./)).toBeVisible();
  await expect(page.getByRole("button", { name: "Test and deploy" })).toHaveCount(0);
  await expectAccessibleEverywhere(page, "rollout");
  await page.getByRole("button", { name: "Abort", exact: true }).click();
  await dialog.getByRole("button", { name: "Abort it" }).click();
  await expect(page.getByRole("region", { name: "Roll-outs" }).getByText("Aborted")).toBeVisible();

  await page.getByRole("button", { name: /^Roll back to revision / }).first().click();
  await dialog.getByRole("button", { name: "Roll back" }).click();
  await page.getByRole("button", { name: /^Show before-revision-/ }).first().click();
  await expect(dialog.getByRole("region", { name: /^the draft before-revision-/ })).toContainText('"mode": "search"');
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: /^Restore / }).first().click();
  await dialog.getByRole("button", { name: "Make it the draft" }).click();
  await expect(page.getByText(/^The draft differs from what is live/)).toBeVisible();
  await page.getByRole("button", { name: /^Delete / }).first().click();
  await dialog.getByRole("button", { name: "Delete it" }).click();
  await expect(page.getByRole("button", { name: /^Restore / })).toHaveCount(0);
});

test("access is a token's, then a login's", async ({ page }) => {
  await page.goto("/toolsets/demo/access");
  await page.getByLabel("Holders of an access token").check();
  await expect(page.getByText(/nobody gets in until you make one/)).toBeVisible();
  await page.getByRole("button", { name: "Make a token" }).click();
  await page.getByLabel("Name").fill("ci");
  await page.getByLabel("Tools").fill("list_*, get_*");
  await page.getByRole("button", { name: "Make it" }).click();
  await expect(page.getByRole("region", { name: "the access token" })).toContainText("slt_");
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByLabel("Requests per minute").fill("600");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Saved, and in force.")).toBeVisible();
  await page.getByRole("button", { name: "Revoke ci" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByRole("region", { name: "Access tokens" }).getByText("Revoked")).toBeVisible();

  await page.getByLabel("Who logs in at an authorization server").check();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Enter the issuer of the tokens, as their claim iss has it.")).toBeVisible();
  await page.getByLabel("Issuer").fill("https://id.example.com");
  await page.getByLabel("Scopes").fill("read = list_*, get_*\nwrite = *");
  await expect(page.getByText("sluice toolset access demo set jwt --issuer https://id.example.com --scope 'read=list_*,get_*' --scope 'write=*' --rate 600")).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText(/^Metadata for applications: /)).toBeVisible();
  await page.getByLabel("Everybody who reaches the node").check();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Saved, and in force.")).toBeVisible();

  await page.getByRole("button", { name: "Allow an address" }).click();
  await page.getByLabel("Address", { exact: true }).fill("http://10.20.30.40:8080");
  await page.getByRole("button", { name: "Allow it" }).click();
  await page.getByRole("button", { name: "Revoke 10.20.30.40:8080" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByText(/^None: APIs in the network/)).toBeVisible();
});

test("a workflow of a document is checked, added, tested and removed", async ({ page }) => {
  await page.goto("/toolsets/demo/workflows");
  await page.getByRole("button", { name: "Add a document" }).click();
  await page.getByLabel("Or its text").fill("arazzo: 1.0.1\nworkflows: nothing");
  await page.getByRole("button", { name: "Check it" }).click();
  await expect(page.getByRole("alert")).toContainText(/req_/);
  await page.getByLabel("File").setInputFiles("../../cmd/sluice/testdata/commands/flow.yaml");
  await page.getByRole("button", { name: "Check it" }).click();
  await expect(page.getByRole("region", { name: "the plan of open_one" })).toContainText("POST /repos/");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Make these tools" }).click();
  await page.getByRole("link", { name: "Test open_one" }).click();
  await page.getByLabel("title (required)").fill("Made by a workflow");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByText("Passed, deployed")).toBeVisible();
  await page.goto("/toolsets/demo/workflows");
  await page.getByRole("button", { name: "Document of open_one" }).click();
  await expect(page.getByRole("region", { name: "the document of open_one" })).toContainText("workflowId: open_one");
  await page.getByRole("button", { name: "Remove open_one" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(page.getByText("No workflows")).toBeVisible();
});
