// @ts-check
/// <reference path="../../js/sluice.d.ts" />
// currency reads products and the rates of the day at once, and answers prices in one currency.

/** @type {sluice.Workflow} */
export default async function ({ query, currency = "EUR" }) {
  const [{ products }, { base, rates }] = await Promise.all([tools.search_products({ query }), tools.get_rates({})]);
  const rate = (/** @type {string} */ code) => (code === base ? 1 : rates[code]);
  if (!rate(currency)) throw new Error(`there is no rate for ${currency}; there are ${[base, ...Object.keys(rates)].join(", ")}`);
  return {
    currency,
    products: products.map((/** @type {any} */ p) => ({
      name: p.name,
      price: rate(p.currency) ? Math.round((p.price / rate(p.currency)) * rate(currency) * 100) / 100 : null,
    })),
  };
}
