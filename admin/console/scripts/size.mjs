// Checks the budget of the built files: what a browser loads, compressed as it is served.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const KB = 1024;
const budget = { first: 200 * KB, route: 60 * KB, all: 400 * KB, css: 20 * KB };

const assets = join(process.argv[2] ?? "dist", "assets");
const size = (name) => gzipSync(readFileSync(join(assets, name)), { level: 9 }).length;
const files = readdirSync(assets).map((name) => ({ name, bytes: size(name) }));
const sum = (list) => list.reduce((total, file) => total + file.bytes, 0);

const scripts = files.filter((file) => file.name.endsWith(".js"));
// What the page names itself: the entry, and what the entry imports statically.
const html = readFileSync(join(assets, "../index.html"), "utf8");
const first = scripts.filter((file) => html.includes(`/assets/${file.name}`));
const routes = scripts.filter((file) => !first.includes(file));
const largest = routes.toSorted((a, b) => b.bytes - a.bytes)[0] ?? { name: "none", bytes: 0 };

const lines = [
  ["first load, JavaScript", sum(first), budget.first],
  [`largest route (${largest.name})`, largest.bytes, budget.route],
  ["all JavaScript", sum(scripts), budget.all],
  ["style sheets", sum(files.filter((file) => file.name.endsWith(".css"))), budget.css],
];
for (const [what, bytes, limit] of lines) {
  const verdict = bytes <= limit ? "ok  " : "FAIL";
  console.log(`${verdict} ${what}: ${(bytes / KB).toFixed(1)} KB of ${limit / KB} KB (gzip)`);
  if (bytes > limit) process.exitCode = 1;
}
