import { expect, expectAccessibleEverywhere, test } from "./fixture";

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
  await expectAccessibleEverywhere(page, "optimizations");
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
