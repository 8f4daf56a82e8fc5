// A Vite plugin that writes licences.txt beside the built files: name, version, licence
// and licence text of every npm package that got into them. It fails on a licence that
// cmd/sluice-supply/policy.txt does not allow, as `make licences` does for Go modules.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const policy = join(here, "../../../cmd/sluice-supply/policy.txt");
// Its base styles are in the style sheet, which no JavaScript module names.
const always = [join(here, "../node_modules/tailwindcss")];

/** The folder of the package that a module is in, or undefined where it is our own. */
function packageOf(id) {
  const path = id.replace(/^\0/, "").replace(/\?.*$/, "");
  const match = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path);
  return match?.[1];
}

function describe(folder, allowed) {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (!allowed.has(manifest.license)) {
    throw new Error(`licences: ${manifest.name} ${manifest.version} has the licence ${manifest.license}, which policy.txt does not allow`);
  }
  const files = readdirSync(folder).filter((name) => /^(licen[cs]e|notice|copying)/i.test(name)).toSorted();
  const texts = files.map((name) => readFileSync(join(folder, name), "utf8").replaceAll("\r\n", "\n").trim());
  const head = `${manifest.name} ${manifest.version}\nLicence: ${manifest.license}`;
  return [head, ...texts].join("\n\n");
}

export function licences() {
  return {
    name: "sluice-licences",
    apply: "build",
    generateBundle(_options, bundle) {
      const allowed = new Set(
        readFileSync(policy, "utf8").split("\n").filter((line) => line.startsWith("allow ")).map((line) => line.slice(6).trim()),
      );
      const folders = new Set(always);
      for (const chunk of Object.values(bundle)) {
        for (const id of chunk.type === "chunk" ? Object.keys(chunk.modules) : []) {
          const folder = packageOf(id);
          if (folder && existsSync(join(folder, "package.json"))) folders.add(folder);
        }
      }
      const parts = [...folders].map((folder) => describe(folder, allowed)).toSorted();
      const rule = `\n\n${"-".repeat(80)}\n\n`;
      const intro = "The console of Sluice contains these packages of the npm registry.";
      this.emitFile({ type: "asset", fileName: "licences.txt", source: [intro, ...parts].join(rule) + "\n" });
    },
  };
}
