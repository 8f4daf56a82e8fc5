// @ts-check
/// <reference path="../../js/sluice.d.ts" />
// pages follows the pages of a list, and answers once with all items, or the first of them.

const mostPages = 20;

/** @type {sluice.Workflow} */
export default async function ({ query, limit = 200 }) {
  /** @type {any[]} */
  const items = [];
  /** @type {string | undefined} */
  let cursor;
  for (let page = 0; page < mostPages; page++) {
    const answer = await tools.list_items(cursor ? { query, cursor } : { query });
    items.push(...answer.items);
    cursor = answer.next;
    if (!cursor || items.length >= limit) break;
  }
  return { items: items.slice(0, limit), more: Boolean(cursor) || items.length > limit };
}
