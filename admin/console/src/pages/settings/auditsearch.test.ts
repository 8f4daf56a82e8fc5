import { expect, test } from "vitest";
import { auditFilter, readAuditSearch } from "./auditsearch";

test("what is asked of the audit log is a filter of the API", () => {
  expect(auditFilter({})).toBe("");
  expect(auditFilter({ who: "tok_01JQ8Z6J5X2V4T7N9B3C1D0E8F", what: "toolset.", of: "my demo", outcome: "failed" })).toBe('actor:"tok_01JQ8Z6J5X2V4T7N9B3C1D0E8F" action:toolset.* resourceName:"my demo" outcome:failed');
  expect(auditFilter({ who: "kind:system", of: "ts_01JQ8Z6J5X2V4T7N9B3C1D0E8F" })).toBe('actorType:system resource:"ts_01JQ8Z6J5X2V4T7N9B3C1D0E8F"');
  expect(auditFilter({ what: 'a" outcome:ok', of: '"' })).toBe('action:aoutcome:ok* resourceName:""');
  expect(auditFilter({ from: "2026-11-01", to: "2026-11-01" })).toBe(`time:>=${new Date("2026-11-01T00:00").toISOString()} time:<${new Date("2026-11-02T00:00").toISOString()}`);
});

test("what is not understood of an address is dropped", () => {
  expect(readAuditSearch({ who: " ", what: 3, of: " demo ", outcome: "toString", from: "2026-99-01", to: "yesterday", more: "x" })).toEqual({ of: "demo" });
});
