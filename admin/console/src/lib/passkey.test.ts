import { expect, test } from "vitest";
import { fromBase64URL, toBase64URL, usable } from "./passkey";

test("bytes are base64url without padding, and come back", () => {
  for (const [bytes, text] of [
    [[], ""],
    [[0], "AA"],
    [[251, 255], "-_8"],
    [[0xff, 0xef, 0xbe, 0xfb], "_----w"],
  ] as const) {
    expect(toBase64URL(Uint8Array.from(bytes).buffer)).toBe(text);
    expect([...fromBase64URL(text)]).toEqual([...bytes]);
  }
});

test("passkeys work at the host name that they belong to only", () => {
  expect(usable(undefined)).toBe(false);
  expect(usable("elsewhere.example")).toBe(false);
});
