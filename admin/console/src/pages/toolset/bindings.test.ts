import { expect, test } from "vitest";
import { bare, grantWords, move, ofWhat, placeFlags, placeOf, put, without, type Binding, type Bound } from "./bindings";

const toolset: Binding = { plugin: "mask" };
const tool: Binding = { plugin: "mask", tool: "list_orders" };
const connector: Binding = { plugin: "mask", connector: "orders" };

test("a plugin is once at a place", () => {
  expect(new Set([toolset, tool, connector].map(placeOf)).size).toBe(3);
  expect(put([toolset, tool], { ...tool, version: "^2.0.0" })).toEqual([toolset, { ...tool, version: "^2.0.0" }]);
  expect(put([toolset], tool)).toEqual([toolset, tool]);
  expect(without([toolset, tool, connector], tool)).toEqual([toolset, connector]);
});

test("the order is changed by one, and not beyond the ends", () => {
  expect(move([toolset, tool], tool, -1)).toEqual([tool, toolset]);
  expect(move([toolset, tool], toolset, -1)).toEqual([toolset, tool]);
  expect(move([toolset, tool], tool, 1)).toEqual([toolset, tool]);
  expect(move([toolset], connector, 1)).toEqual([toolset]);
});

test("what the node adds to a binding is not sent back", () => {
  const bound: Bound = { ...tool, connector: "orders", operation: { connector: "orders", method: "GET", path: "/orders" }, version: "^1.0.0", config: { mask: "-" }, pinned: "1.0.0", digest: "sha256:0", kind: "filter", status: "ok", live: "1.0.0" };
  expect(bare(bound)).toEqual({ plugin: "mask", version: "^1.0.0", tool: "list_orders", connector: "orders", config: { mask: "-" } });
  const gone: Bound = { ...bound, status: "waiting" };
  delete gone.tool;
  expect(bare(gone)).toEqual({ plugin: "mask", version: "^1.0.0", operation: bound.operation, config: { mask: "-" } });
});

test("a binding is said in words and in flags", () => {
  expect([toolset, tool, connector].map(ofWhat)).toEqual(["all tools", "the tool list_orders", "tools of orders"]);
  expect([toolset, tool, connector].map(placeFlags)).toEqual(["", " --tool list_orders", " --connector orders"]);
  expect(grantWords({ hosts: ["a.example", "*.b.example"], clock: true, deadlineMs: 2000 })).toBe("hosts=a.example,hosts=*.b.example,clock,deadline=2000ms");
  expect(grantWords({})).toBe("none");
  expect(grantWords(undefined)).toBe("");
});
