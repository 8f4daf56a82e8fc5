import { defineConfig } from "@playwright/test";

// TestConsoleRuns in cmd/sluice/e2e starts a node for each run: make console-runs.
export default defineConfig({
  testDir: "runs",
  outputDir: process.env.SLUICE_E2E_OUTPUT ?? "test-results",
  workers: 1,
  forbidOnly: true,
  timeout: 240_000,
  reporter: [["list"]],
  use: {
    viewport: { width: 1280, height: 800 },
    actionTimeout: 60_000,
    launchOptions: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
    screenshot: "only-on-failure",
  },
});
