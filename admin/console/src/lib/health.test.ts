import { expect, test } from "vitest";
import { readHealth, worstOf } from "./health";

test("each line of /readyz?verbose is a check", () => {
  const checks = readHealth("[+]store ok\n[-]data directory /data: no space left on device\n[!]publishing the records are older than the release\nnot ready\n");
  expect(checks).toEqual([
    { state: "ok", name: "store", detail: "ok" },
    { state: "failed", name: "data directory", detail: "/data: no space left on device" },
    { state: "attention", name: "publishing", detail: "the records are older than the release" },
  ]);
  expect(worstOf(checks)).toBe("failed");
  expect(worstOf(checks.filter((c) => c.state !== "failed"))).toBe("attention");
  expect(worstOf(readHealth("[+]store ok\nready\n"))).toBe("ok");
  expect(readHealth("<html>a proxy's page</html>")).toEqual([]);
});
