import { describe, expect, it, test } from "vitest";
import { ago, milliseconds, percent, plural, saved, capital, short } from "./format";

describe("format", () => {
  it.each([
    [15783, 1671, "−89 %"],
    [231, 88, "−61 %"],
    [1000, 999, "0 %"],
    [100, 110, "+10 %"],
    [100, 100, "0 %"],
    [0, 0, "–"],
  ])("says how much %d to %d saves", (before, after, want) => expect(saved(before, after)).toBe(want));

  it.each([
    [0, 100, "0 %"],
    [1, 10_000, "<0.1 %"],
    [1, 300, "0.3 %"],
    [50, 100, "50 %"],
    [1, 0, "–"],
  ])("writes %d of %d as a percentage", (part, whole, want) => expect(percent(part, whole)).toBe(want));

  it.each([
    [0.4, "0.4 ms"],
    [212, "212 ms"],
    [1500, "1.5 s"],
    [42_000, "42 s"],
    [0.02, "<0.1 ms"],
  ])("writes %d milliseconds", (ms, want) => expect(milliseconds(ms)).toBe(want));

  it("shortens large numbers only", () => {
    expect(short(9999)).toBe("9,999");
    expect(short(15_783)).toBe("15.8K");
  });

  it("knows one from many", () => {
    expect(plural(1, "tool")).toBe("1 tool");
    expect(plural(1223, "tool")).toBe("1,223 tools");
  });

  it.each([
    [10, "just now"],
    [120, "2 minutes ago"],
    [3 * 3600, "3 hours ago"],
    [86_400, "yesterday"],
    [70 * 86_400, "2 months ago"],
  ])("tells what was %d seconds ago", (seconds, want) => {
    const now = Date.parse("2026-11-23T12:00:00Z");
    expect(ago(new Date(now - seconds * 1000).toISOString(), now)).toBe(want);
  });
});

test("a message begins as a sentence where its first word is a word", () => {
  expect(capital("the toolset has no tool")).toBe("The toolset has no tool");
  for (const same of ["list_articles is gone", "sluice grant create x", "`a` b", "", "x.y z", "api: refused", "The end"]) expect(capital(same)).toBe(same);
});
