import { expect, test } from "vitest";
import { mergePatch, objectOf } from "./object";

test("an object is read, and nothing else", () => {
  expect(objectOf('{"a":1}')).toEqual({ a: 1 });
  expect(objectOf("  ")).toEqual({});
  for (const text of ["[1]", "null", "1", "{", "no"]) expect(objectOf(text)).toBeUndefined();
});

test("a merge patch has what changed, and null for what is gone", () => {
  expect(mergePatch({ a: 1, b: [1], c: "x" }, { a: 1, b: [2], d: true })).toEqual({ b: [2], d: true, c: null });
  expect(mergePatch({ a: { b: 1 } }, { a: { b: 1 } })).toEqual({});
});
