import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { licences } from "./scripts/licences.mjs";

// While developing, the admin API of a running node answers; its token is added here, so
// that no login is needed: SLUICE_TOKEN_FILE=…/admin.token npm run dev
const target = process.env.SLUICE_SERVER ?? "http://127.0.0.1:7301";
const token = process.env.SLUICE_TOKEN_FILE ? readFileSync(process.env.SLUICE_TOKEN_FILE, "utf8").trim() : "";

export default defineConfig({
  plugins: [react(), tailwindcss(), licences()],
  server: {
    proxy: { "/v1": { target, changeOrigin: true, headers: token ? { Authorization: `Bearer ${token}` } : {} }, "/livez": { target, changeOrigin: true } },
  },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // The files are committed: names without hashes keep the history readable.
    rollupOptions: {
      output: {
        entryFileNames: "assets/[name].js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: "assets/[name][extname]",
        manualChunks: (id: string) => (/node_modules\/(react|react-dom|scheduler|@tanstack\/(react-)?(router|query|history|store))/.test(id) ? "vendor" : undefined),
      },
    },
  },
  test: { environment: "jsdom", include: ["src/**/*.test.{ts,tsx}"] },
});
