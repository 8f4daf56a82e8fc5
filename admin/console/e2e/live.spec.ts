import { expect, test } from "./fixture";

test("what is changed over the API appears in an open list", async ({ page }) => {
  const headers = { "Sec-Fetch-Site": "same-origin" };
  const rename = async (name: string) => {
    const etag = (await page.request.get("/v1/toolsets/demo", { headers })).headers()["etag"] ?? "";
    const answer = await page.request.patch("/v1/toolsets/demo", {
      headers: { ...headers, "If-Match": etag, "Content-Type": "application/merge-patch+json" },
      data: { name },
    });
    expect(answer.status()).toBe(200);
  };
  const { name } = (await (await page.request.get("/v1/toolsets/demo", { headers })).json()) as { name: string };
  const told = page.waitForResponse((r) => new URL(r.url()).pathname === "/v1/changes" && r.status() === 200);
  await page.goto("/toolsets");
  await expect(page.getByRole("link", { name, exact: true })).toBeVisible();
  await told;
  let loaded = 0;
  page.on("load", () => loaded++);
  await rename("Renamed elsewhere");
  await expect(page.getByRole("link", { name: "Renamed elsewhere", exact: true })).toBeVisible();
  await rename(name);
  await expect(page.getByRole("link", { name, exact: true })).toBeVisible();
  expect(loaded).toBe(0);
});
