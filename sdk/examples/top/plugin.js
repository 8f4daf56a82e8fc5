// @ts-check
/// <reference path="../../js/sluice.d.ts" />
// top keeps the N items of a list that have the most, or the least, of something.

/** @type {sluice.Filter} */
export default function (answer, call) {
  const { list = "items", by, count = 10, order = "desc" } = call.config;
  const items = Array.isArray(answer) ? answer : answer?.[list];
  if (!Array.isArray(items)) return answer;
  const value = (/** @type {any} */ item) => Number(by.split(".").reduce((/** @type {any} */ v, /** @type {string} */ k) => v?.[k], item) ?? NaN);
  const sign = order === "asc" ? 1 : -1;
  const sorted = items
    .filter((item) => !Number.isNaN(value(item)))
    .sort((a, b) => sign * (value(a) - value(b)))
    .slice(0, count);
  return Array.isArray(answer) ? sorted : { ...answer, [list]: sorted };
}
