import { expect, test as base, type Page } from "@playwright/test";
import axe from "axe-core";

/**
 * A page that fails its test where it breaks the content security policy, where a script
 * throws, or where it asks another origin for anything.
 */
export const test = base.extend({
  page: async ({ page, baseURL }, use) => {
    const faults: string[] = [];
    page.on("console", (message) => {
      if (/Content Security Policy|Trusted/.test(message.text())) faults.push(message.text());
    });
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("request", (request) => {
      if (!request.url().startsWith(`${baseURL}/`) && !request.url().startsWith("data:")) faults.push(`request to ${request.url()}`);
    });
    await use(page);
    expect(faults).toEqual([]);
  },
});

/** The rules of WCAG 2.2 AA, and axe's best practices. */
const everyRule = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
/** Of these, the rules that a theme can break: the document is the same one in every theme. */
const rulesOfThemes = ["color-contrast", "link-in-text-block", "target-size", "scrollable-region-focusable"];

/** Checks what is shown by these rules of axe: again for a while, in which the colours of a theme may still come. */
async function expectNoViolation(page: Page, rules: string[]) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  await expect(async () => {
    const found = await page.evaluate(async (runOnly) => {
      const results = await (globalThis as unknown as { axe: typeof axe }).axe.run({ runOnly, resultTypes: ["violations"] });
      return results.violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(" ")}: ${n.failureSummary ?? ""}`));
    }, rules);
    expect(found).toEqual([]);
  }).toPass({ timeout: 20_000 });
}

export const expectAccessible = (page: Page) => expectNoViolation(page, everyRule);

const media = {
  light: { colorScheme: "light", forcedColors: "none" },
  dark: { colorScheme: "dark", forcedColors: "none" },
  "forced colours": { colorScheme: "dark", forcedColors: "active" },
} as const;

/** Where pictures of what is checked are put, for people to look at; empty: none are made. */
const shots = process.env.SLUICE_E2E_SHOTS ?? "";

/** Checks what is shown in every theme, and that it is no wider than a window of 320 pixels. */
export async function expectAccessibleEverywhere(page: Page, name: string) {
  const shoot = async (view: string) => {
    if (shots) await page.screenshot({ path: `${shots}/${name}-${view}.png`, fullPage: true });
  };
  for (const [theme, settings] of Object.entries(media)) {
    await test.step(theme, async () => {
      await page.emulateMedia(settings);
      await expectNoViolation(page, theme === "light" ? everyRule : rulesOfThemes);
      await shoot(theme.replace(" ", "-"));
    });
  }
  await page.emulateMedia(media.light);
  const before = page.viewportSize() ?? { width: 1280, height: 800 };
  await page.setViewportSize({ width: 320, height: 700 });
  // Charts follow the window after it.
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  await shoot("320");
  await page.setViewportSize(before);
}

export { expect };
