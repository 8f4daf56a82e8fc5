import { defineConfig } from "@playwright/test";

// TestConsole in cmd/sluice/e2e starts a node and sets these.
const baseURL = process.env.SLUICE_URL;
const output = process.env.SLUICE_E2E_OUTPUT ?? "test-results";

export default defineConfig({
  testDir: "e2e",
  outputDir: output,
  globalSetup: "./e2e/signin.ts",
  fullyParallel: false,
  workers: 1,
  forbidOnly: true,
  timeout: 30_000,
  reporter: [["list"]],
  use: {
    baseURL,
    storageState: `${output}/session.json`,
    viewport: { width: 1280, height: 800 },
    launchOptions: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
    screenshot: "only-on-failure",
  },
});
