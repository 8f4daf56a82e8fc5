import { defineConfig } from "@playwright/test";

// TestConsole in cmd/sluice/e2e starts a node and sets these.
const baseURL = process.env.SLUICE_URL;
// Two files at a time: one of these, which make toolsets of their own, and one of the others, which change what TestConsole made.
const apart = /(connectors|create|create-server|playground|restart|toolset-articles|z-openid)\.spec\.ts$/;
// It ends the session of the others.
const last = /zz-account\.spec\.ts$/;
const output = process.env.SLUICE_E2E_OUTPUT ?? "test-results";

export default defineConfig({
  testDir: "e2e",
  outputDir: output,
  globalSetup: "./e2e/signin.ts",
  fullyParallel: false,
  workers: 2,
  projects: [
    { name: "apart", testMatch: apart, workers: 1 },
    { name: "shared", testIgnore: [apart, last], workers: 1 },
    { name: "last", testMatch: last, workers: 1, dependencies: ["apart", "shared"] },
  ],
  forbidOnly: true,
  // A machine that compiles and tests beside it is slow, which is no fault of the console: what a page does not show at all costs a failing run some seconds.
  timeout: 120_000,
  expect: { timeout: 30_000 },
  reporter: [["list"]],
  use: {
    baseURL,
    storageState: `${output}/session.json`,
    viewport: { width: 1280, height: 800 },
    launchOptions: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
    screenshot: "only-on-failure",
  },
});
