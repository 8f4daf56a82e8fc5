import { expect, test } from "vitest";
import { readSearch } from "./search";

test("an address is read, and what is not understood is dropped", () => {
  expect(readSearch({ range: "7d", toolset: "demo", outcome: "failed", slower: "20", other: 1 })).toEqual({ range: "7d", toolset: "demo", outcome: "failed", slower: 20 });
  expect(readSearch({ range: "7y", toolset: 7, outcome: "toString", slower: "x", tool: "", call: "x".repeat(100) })).toEqual({ call: "x".repeat(64) });
});
