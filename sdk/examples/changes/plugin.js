// @ts-check
/// <reference path="../../js/sluice.d.ts" />
// changes reads a list and answers what is new, changed or gone since the last call. What the
// last call saw comes back as an argument: a plugin keeps nothing between calls that it can
// rely on.

/** @param {any} value */
function hash(value) {
  const text = JSON.stringify(value, (_, v) => (typeof v === "bigint" ? String(v) : v));
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return h.toString(36);
}

/** @type {sluice.Workflow} */
export default async function ({ seen = {} }) {
  const { items } = await tools.list_items({});
  const now = Object.fromEntries(items.map((/** @type {any} */ item) => [String(item.id), hash(item)]));
  return {
    added: items.filter((/** @type {any} */ i) => !(i.id in seen)),
    changed: items.filter((/** @type {any} */ i) => i.id in seen && seen[i.id] !== now[i.id]),
    gone: Object.keys(seen).filter((id) => !(id in now)),
    seen: now,
  };
}
