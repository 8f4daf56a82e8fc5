import { expect, test } from "@playwright/test";
import { Person } from "./person";

interface Run {
  /** Login link of an empty node. */
  link: string;
  /** The specification. */
  file: string;
  /** Where its API is. */
  api: string;
}

const runs = JSON.parse(process.env.SLUICE_RUNS ?? "{}") as Partial<Record<"github" | "small" | "permalink", Run>>;
const key = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"; // As long as a real one; the stand-in wants exactly this.

test("from the login link to a live, tested toolset with a key: GitHub's specification", async ({ page }) => {
  const run = runs.github;
  test.skip(!run, "GITHUB=FILE names no specification of GitHub");
  if (!run) return;
  const who = new Person(page);
  await who.open(run.link, "the login link");
  await who.press(page.getByRole("link", { name: "Create toolset" }), "Create toolset");
  await who.choose(page.getByLabel("Specification file"), run.file, "api.github.com.json");
  await page.getByText("is read.").waitFor();
  await who.press(page.getByRole("button", { name: "Continue" }), "Continue");
  await who.type(page.getByLabel("Where calls are sent"), run.api, "where the stand-in for the API is");
  await expect(page.getByLabel("Find tools by search")).toBeChecked();
  await who.press(page.getByRole("button", { name: /^Continue with [\d,.]+ tools$/ }), "Continue with … tools");
  await who.select(page.getByLabel("Type"), "Bearer token");
  await who.type(page.getByLabel("Token", { exact: true }), key, "the token");
  await who.press(page.getByRole("button", { name: "Save and continue" }), "Save and continue");
  await who.press(page.getByRole("button", { name: "Continue", exact: true }), "Continue");
  await who.press(page.getByRole("button", { name: "Run the test" }), "Run the test");
  await page.getByText("Passed, deployed").waitFor();
  await who.press(page.getByRole("button", { name: "Connect an application" }), "Connect an application");
  await page.getByText("The toolset is live.").waitFor();
  who.done("GitHub, from the login link to a live toolset", { inputs: 25, seconds: 180 });
});

test("from the login link to a live, tested toolset with a key: a small specification", async ({ page }) => {
  const run = runs.small;
  test.skip(!run, "no small specification");
  if (!run) return;
  const who = new Person(page);
  await who.open(run.link, "the login link");
  await who.press(page.getByRole("link", { name: "Create toolset" }), "Create toolset");
  await who.choose(page.getByLabel("Specification file"), run.file, "things.yaml");
  await page.getByText("is read.").waitFor();
  await who.press(page.getByRole("button", { name: "Continue" }), "Continue");
  await who.press(page.getByRole("button", { name: "Continue with 1 tool" }), "Continue with 1 tool");
  await who.type(page.getByLabel("API key"), key, "the key");
  await who.press(page.getByRole("button", { name: "Save and continue" }), "Save and continue");
  await who.press(page.getByRole("button", { name: "Continue", exact: true }), "Continue");
  await who.press(page.getByRole("button", { name: "Run the test" }), "Run the test");
  await who.press(page.getByRole("button", { name: "Allow this address and test again" }), "Allow this address and test again");
  await page.getByText("Passed, deployed").waitFor();
  await who.press(page.getByRole("button", { name: "Connect an application" }), "Connect an application");
  await page.getByText("The toolset is live.").waitFor();
  who.done("A small specification, from the login link to a live toolset", { inputs: 15, seconds: 60 });
});

test("from an answer that lacks the permalink to the deployed projection", async ({ page }) => {
  const run = runs.permalink;
  test.skip(!run, "no toolset whose answers lack a permalink");
  if (!run) return;
  await page.goto(run.link);
  await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
  const who = new Person(page);
  await who.press(page.getByRole("link", { name: "Playground" }), "Playground");
  await who.select(page.getByLabel("Toolset"), "articles");
  await who.type(page.getByLabel("Tool", { exact: true }), "list", "a word of the tool");
  await who.key("Enter", "take the tool that is found");
  await who.type(page.getByLabel("topic (required)"), "tides", "a topic");
  await who.press(page.getByRole("button", { name: "Run", exact: true }), "Run");
  await page.getByText("HTTP 200").waitFor();
  await expect(page.getByRole("region", { name: "the answer" })).not.toContainText("news.example");
  await who.press(page.getByRole("tab", { name: "Before / after" }), "Before / after");
  await who.press(page.getByRole("button", { name: "api_url, left out" }).first(), "the member that is struck through");
  await who.press(page.getByRole("button", { name: "Keep this" }), "Keep this");
  await page.getByText("Passed, deployed").waitFor();
  await who.press(page.getByRole("tab", { name: "Answer" }), "Answer");
  await expect(page.getByRole("region", { name: "the answer" })).toContainText("news.example");
  who.done("From a missing permalink to the deployed projection", { inputs: 15, seconds: 60 });
});
