import { expect, test } from "vitest";
import { wholeNumber } from "./number";

test("a whole number within its bounds is taken, and so is none", () => {
  for (const text of ["", "-1", "0", "86400"]) expect(wholeNumber(text, -1, 86_400)).toBeUndefined();
  for (const text of ["-2", "86401", "1.5", "1e3", "lots", "9".repeat(16)]) expect(wholeNumber(text, -1, 86_400)).toBe("Write a whole number from -1 to 86,400.");
});
