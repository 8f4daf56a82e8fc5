// @ts-check
/// <reference path="../../js/sluice.d.ts" />
// join reads a list, then what each of its items refers to, each of it once, and joins them.

/** @type {sluice.Workflow} */
export default async function ({ status }) {
  const { orders } = await tools.list_orders({ status });
  const ids = [...new Set(orders.map((/** @type {any} */ o) => o.customerId))];
  const customers = new Map(
    await Promise.all(ids.map(async (id) => [id, await tools.get_customer({ id }).catch((e) => ({ error: e.message }))])),
  );
  return { orders: orders.map((/** @type {any} */ { customerId, ...order }) => ({ ...order, customer: customers.get(customerId) })) };
}
