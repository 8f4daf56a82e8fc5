import { expect, test } from "vitest";
import { filled, fits } from "./servervariables";

test("a template is filled in, and what has no value stays in braces", () => {
  const template = "https://{tenant}.example.com/{version}/{tenant}";
  expect(filled(template, { tenant: "acme", version: "v2" })).toBe("https://acme.example.com/v2/acme");
  expect(filled(template, { tenant: "", version: "v2" })).toBe("https://{tenant}.example.com/v2/{tenant}");
  expect(filled("https://example.com", { tenant: "acme" })).toBe("https://example.com");
  expect(filled("https://{a}.com", { a: "$&" })).toBe("https://$&.com");
});

test("a URL fits the template that it was made of", () => {
  expect(fits("https://{tenant}.example.com/{version}", "https://acme.example.com/v1")).toBe(true);
  expect(fits("https://{tenant}.example.com/{version}", "https://acme.exampleXcom/v1")).toBe(false);
  expect(fits("https://{tenant}.example.com", "https://acme.example.com/v1")).toBe(false);
  expect(fits(undefined, "https://acme.example.com")).toBe(false);
});
