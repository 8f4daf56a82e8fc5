import { expect, test } from "vitest";
import { callsOf, writtenCalls } from "./calls";
import { offsetOf, placesOf } from "./code";

test("the places that an answer names", () => {
  expect(placesOf('TypeError: no tool "a" (line 2, column 17)\nTypeError: b (line 3, column 1)\n    at <eval> (script.js:2:1)')).toEqual([
    { line: 2, column: 17, says: 'TypeError: no tool "a"' },
    { line: 3, column: 1, says: "TypeError: b" },
  ]);
  expect(placesOf("line 4 of nothing (line x, column 1)")).toEqual([]);
  expect(placesOf("(line 1, column 1)\n".repeat(5000))).toHaveLength(20);
});

test("where a place is, also one that is not there any more", () => {
  expect(offsetOf("ab\ncd", 2, 2)).toBe(4);
  expect(offsetOf("ab\ncd", 1, 9)).toBe(2);
  expect(offsetOf("ab", 7, 7)).toBe(2);
});

test("calls of a batch are read and written", () => {
  expect(callsOf('[{"tool":"a","arguments":{"n":1},"id":"x"}]')).toEqual([{ tool: "a", args: '{"n":1}', id: "x" }]);
  expect(callsOf("{")).toEqual([{ tool: "", args: "", id: "" }]);
  expect(callsOf('[7,{"tool":3}]')).toEqual([
    { tool: "", args: "", id: "" },
    { tool: "", args: "", id: "" },
  ]);
  expect(writtenCalls([{ tool: "a", args: '{"n":1}', id: "" }, { tool: "b", args: "", id: "x" }])).toBe('[{"tool":"a","arguments":{"n":1}},{"tool":"b","id":"x"}]');
  expect(writtenCalls([{ tool: "a", args: "{", id: "" }])).toBeUndefined();
  expect(writtenCalls([{ tool: "", args: "", id: "" }])).toBeUndefined();
});
