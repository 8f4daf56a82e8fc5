import { expect, test } from "vitest";
import { csv } from "./csv";

test("cells are quoted where they must be, and no cell is a formula", () => {
  expect(csv(["name", "n"], [["plain", 1], ['say "hi", now', -2], ["two\nlines", 0.5], ["=1+1", 3], ["@x", 4], [undefined, 5]])).toBe(
    ["name,n", "plain,1", '"say ""hi"", now",-2', '"two\nlines",0.5', "'=1+1,3", "'@x,4", ",5", ""].join("\r\n"),
  );
});
