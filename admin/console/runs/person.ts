import { expect, type Locator, type Page } from "@playwright/test";

/** Milliseconds before each input: finding what to click, and moving there. */
const ACTION = 1000;
/** Milliseconds for each character: five in a second. */
const CHARACTER = 200;

/** Somebody who uses the console: every input takes its time, and is counted. */
export class Person {
  inputs = 0;
  characters = 0;
  private readonly begun = Date.now();
  private readonly steps: string[] = [];

  constructor(readonly page: Page) {}

  private async act(what: string) {
    this.inputs++;
    this.steps.push(`${((Date.now() - this.begun) / 1000).toFixed(1)} s  ${what}`);
    await this.page.waitForTimeout(ACTION);
  }

  async open(address: string, what: string) {
    await this.act(`open ${what}`);
    await this.page.goto(address);
  }

  /** Presses what has this role and name. */
  async press(target: Locator, what: string) {
    await target.waitFor();
    await this.act(what);
    await target.click();
  }

  async key(key: string, what: string) {
    await this.act(what);
    await this.page.keyboard.press(key);
  }

  async choose(target: Locator, file: string, what: string) {
    await this.act(`choose the file ${what}`);
    await target.setInputFiles(file);
  }

  async select(target: Locator, option: string) {
    await target.waitFor();
    await this.act(`select ${option}`);
    await target.selectOption(option);
  }

  /** Types over what a field has. */
  async type(target: Locator, text: string, what: string) {
    await target.waitFor();
    await this.act(`type ${what}`);
    await target.fill("");
    await target.pressSequentially(text, { delay: CHARACTER });
    this.characters += text.length;
  }

  /** Ends the run: it prints what it took, and fails beyond what is promised. */
  done(name: string, most: { inputs: number; seconds: number }) {
    const seconds = (Date.now() - this.begun) / 1000;
    console.log(`\n${name}: ${this.inputs} inputs, ${this.characters} characters, ${seconds.toFixed(1)} s (at most ${most.inputs} inputs, ${most.seconds} s)\n  ${this.steps.join("\n  ")}`);
    expect(this.inputs).toBeLessThanOrEqual(most.inputs);
    expect(seconds).toBeLessThanOrEqual(most.seconds);
  }
}
