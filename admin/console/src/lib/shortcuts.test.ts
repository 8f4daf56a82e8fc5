import { expect, test } from "vitest";
import { places, shortcutReader } from "./shortcuts";

const press = (key: string, timeStamp = 0, more = {}) => ({ key, timeStamp, ctrlKey: false, metaKey: false, altKey: false, ...more });

test("Ctrl or ⌘ with K opens the menu, also while something is typed", () => {
  for (const more of [{ ctrlKey: true }, { metaKey: true }]) expect(shortcutReader()(press("k", 0, more), true, false)).toEqual({ menu: true });
  expect(shortcutReader()(press("k"), false, true)).toBeUndefined();
  expect(shortcutReader()(press("k", 0, { ctrlKey: true, altKey: true }), false, true)).toBeUndefined();
});

test("single keys count where nothing is typed and they are on", () => {
  for (const [key, wish] of [["?", { help: true }], ["c", { create: true }], ["/", { search: true }]] as const) {
    expect(shortcutReader()(press(key), false, true)).toEqual(wish);
    expect(shortcutReader()(press(key), true, true)).toBeUndefined();
    expect(shortcutReader()(press(key), false, false)).toBeUndefined();
    expect(shortcutReader()(press(key, 0, { ctrlKey: true }), false, true)).toBeUndefined();
  }
});

test("g and a second key open a page, for a moment", () => {
  for (const { key, to } of places) {
    const read = shortcutReader();
    expect(read(press("g", 1000), false, true)).toBeUndefined();
    expect(read(press(key, 2500), false, true)).toEqual({ to });
    read(press("g", 1000), false, true);
    expect(read(press(key, 2501), false, true)).toEqual(key === "c" ? { create: true } : undefined);
  }
  const read = shortcutReader();
  read(press("g", 1000), false, true);
  expect(read(press("z", 1001), false, true)).toBeUndefined();
  expect(read(press("t", 1002), false, true)).toBeUndefined();
});

test("each page has a key of its own", () => {
  expect(new Set(places.map((p) => p.key)).size).toBe(places.length);
});
