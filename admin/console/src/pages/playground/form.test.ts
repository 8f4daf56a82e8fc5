import { expect, test } from "vitest";
import { examplesOf } from "./form";

test("examples of required arguments: declared, default, allowed, or at the end of the description", () => {
  const schema = {
    required: ["owner", "state", "page", "number", "tags", "none", "dotted"],
    properties: {
      owner: { type: "string", description: "Account, e.g. acme" },
      state: { type: "string", enum: ["open", "closed"] },
      page: { type: "integer", default: 1, description: "e.g. 7" },
      number: { type: "integer", examples: [42] },
      tags: { type: "array", examples: [["a", "b"]] },
      none: { type: "string", description: "A name" },
      dotted: { type: "string", description: "e.g. two words" },
      optional: { type: "string", examples: ["x"] },
    },
  };
  expect(examplesOf(schema)).toEqual({ owner: "acme", state: "open", page: "1", number: "42", tags: '["a","b"]' });
  expect(examplesOf({})).toEqual({});
});
