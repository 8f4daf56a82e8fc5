// @ts-check
/// <reference path="../../js/sluice.d.ts" />
// markdown turns the HTML of rich text fields into Markdown, which has a third of its tokens.

const entities = /** @type {Record<string, string>} */ ({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", ndash: "–", mdash: "—", hellip: "…" });

/** @param {string} html */
function markdown(html) {
  return html
    .replace(/<(script|style|head|template)\b[^]*?<\/\1\s*>|<!--[^]*?-->/gi, "")
    .replace(/\s+/g, " ")
    .replace(/<h([1-6])\b[^>]*>(.*?)<\/h\1\s*>/gi, (_, n, text) => `\n\n${"#".repeat(n)} ${text.trim()}\n\n`)
    .replace(/<a\b[^>]*\bhref\s*=\s*["']([^"']*)["'][^>]*>(.*?)<\/a\s*>/gi, (_, href, text) => (/^https?:/i.test(href) ? `[${text.trim()}](${href})` : text))
    .replace(/<(?:b|strong)\b[^>]*>(.*?)<\/(?:b|strong)\s*>/gi, "**$1**")
    .replace(/<(?:i|em)\b[^>]*>(.*?)<\/(?:i|em)\s*>/gi, "_$1_")
    .replace(/<code\b[^>]*>(.*?)<\/code\s*>/gi, "`$1`")
    .replace(/<li\b[^>]*>/gi, "\n- ")
    .replace(/<br\s*\/?>/gi, "\n")
    .replace(/<\/?(?:p|div|ul|ol|table|tr|section|article|blockquote)\b[^>]*>/gi, "\n\n")
    .replace(/<[a-z/!][^>]*>/gi, "")
    .replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]+));/gi, (whole, dec, hex, name) => {
      const code = dec ? Number(dec) : hex ? parseInt(hex, 16) : 0;
      return code ? (code <= 0x10ffff ? String.fromCodePoint(code) : "") : (entities[name?.toLowerCase()] ?? whole);
    })
    .replace(/ *\n */g, "\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

const tag = /<(?:p|div|br|a|b|strong|i|em|ul|ol|li|h[1-6]|span|table|code)\b[^>]*>/i;

/** @param {any} value @returns {any} */
function converted(value) {
  if (typeof value === "string") return tag.test(value) ? markdown(value) : value;
  if (Array.isArray(value)) return value.map(converted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, converted(v)]));
}

/** @type {sluice.Filter} */
export default (answer) => converted(answer);
