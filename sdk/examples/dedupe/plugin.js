// @ts-check
/// <reference path="../../js/sluice.d.ts" />
// dedupe drops the items of every list that are there already.

/**
 * @param {any} value
 * @param {string | undefined} key
 */
function once(value, key) {
  if (value === null || typeof value !== "object") return value;
  if (!Array.isArray(value)) return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, once(v, key)]));
  const seen = new Set();
  return value
    .filter((item) => {
      if (item === null || typeof item !== "object") return true;
      if (key && item[key] === undefined) return true;
      const id = JSON.stringify(key ? item[key] : item, (_, v) => (typeof v === "bigint" ? String(v) : v));
      return !seen.has(id) && seen.add(id);
    })
    .map((item) => once(item, key));
}

/** @type {sluice.Filter} */
export default (answer, call) => once(answer, call.config.key);
