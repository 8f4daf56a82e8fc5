// @ts-check
/// <reference path="../../js/sluice.d.ts" />
// redact takes out what agents must not see: members by their names, at any depth, and e-mail
// addresses and card numbers in any text.

const address = /[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}/g;
const card = /\b\d(?:[ -]?\d){12,18}\b/g;

/** @param {string} digits */
function luhn(digits) {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    let d = digits.charCodeAt(digits.length - 1 - i) - 48;
    if (i % 2 && (d *= 2) > 9) d -= 9;
    sum += d;
  }
  return sum % 10 === 0;
}

/** @param {string} text */
function masked(text) {
  return text.replace(address, "[e-mail]").replace(card, (n) => (luhn(n.replace(/\D/g, "")) ? "[card]" : n));
}

/**
 * @param {any} value
 * @param {Set<string>} drop
 */
function without(value, drop) {
  if (typeof value === "string") return masked(value);
  if (Array.isArray(value)) return value.map((v) => without(v, drop));
  if (value === null || typeof value !== "object") return value;
  const kept = Object.entries(value).filter(([k]) => !drop.has(k.toLowerCase()));
  return Object.fromEntries(kept.map(([k, v]) => [k, without(v, drop)]));
}

/** @type {sluice.Filter} */
export default function (answer, call) {
  const names = call.config.drop || ["password", "secret", "token", "ssn"];
  return without(answer, new Set(names.map((/** @type {string} */ n) => n.toLowerCase())));
}
