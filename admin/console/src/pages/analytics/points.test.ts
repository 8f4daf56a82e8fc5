import { expect, test } from "vitest";
import { everyStep, type Usage } from "./points";

test("steps without calls are there", () => {
  const point = { at: "2026-11-24T00:20:00Z", calls: 3 };
  const usage = { from: "2026-11-24T00:00:00Z", to: "2026-11-24T00:31:00Z", stepSeconds: 600, groups: [{ points: [point] }] } as unknown as Usage;
  expect(everyStep(usage).map((s) => s.point?.calls)).toEqual([undefined, undefined, 3, undefined]);
  expect(everyStep({ ...usage, groups: [] }).map((s) => s.point)).toEqual([undefined, undefined, undefined, undefined]);
  expect(everyStep({ ...usage, stepSeconds: 0 })).toEqual([]);
});
