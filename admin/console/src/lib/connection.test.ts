import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { connection, load, maxPause, pauseAfter, send, tryNow } from "./connection";

/** What stands for the node: there, gone, or taken and never answered. */
let node: "there" | "gone" | "silent" = "there";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("fetch", (_: unknown, init?: RequestInit) =>
    node === "there"
      ? Promise.resolve(new Response("ok"))
      : node === "gone"
        ? Promise.reject(new TypeError("Failed to fetch"))
        : new Promise((_answer, failed) => init?.signal?.addEventListener("abort", () => failed(init.signal?.reason))),
  );
  // The timers of a test do not move those of the platform.
  vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(new DOMException("too long", "TimeoutError")), ms);
    return stop.signal;
  });
});

afterEach(async () => {
  node = "there";
  await tryNow();
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const ask = () => send(new Request("http://node.example/v1/toolsets"));

it("pauses grow to a bound", () => {
  expect([0, 1, 2, 3].map(pauseAfter)).toEqual([1000, 2000, 4000, 8000]);
  expect([4, 1000].map(pauseAfter)).toEqual([maxPause, maxPause]);
});

describe("a node that is gone", () => {
  it("is asked again by itself until it answers", async () => {
    node = "gone";
    await expect(ask()).rejects.toThrow("Failed to fetch");
    expect(connection.get()?.attempts).toBe(0);
    await vi.advanceTimersByTimeAsync(1000);
    expect(connection.get()?.attempts).toBe(1);
    await vi.advanceTimersByTimeAsync(2000);
    expect(connection.get()?.attempts).toBe(2);
    node = "there";
    await vi.advanceTimersByTimeAsync(4000);
    expect(connection.get()).toBeNull();
  });
  it("is back with any answer", async () => {
    node = "gone";
    await expect(ask()).rejects.toThrow();
    node = "there";
    await ask();
    expect(connection.get()).toBeNull();
  });
  it("that takes connections and says nothing ends what waits for it", async () => {
    node = "silent";
    let failed: unknown;
    void ask().catch((e: unknown) => (failed = e));
    await vi.advanceTimersByTimeAsync(5000 + 4000);
    expect(connection.get()?.attempts).toBe(0);
    expect(failed).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1000 + 4000);
    expect(failed).toBeInstanceOf(TypeError);
  });
  it("keeps a part of the console waiting", async () => {
    node = "gone";
    const part = vi.fn(() => (node === "gone" ? Promise.reject(new TypeError("Failed to fetch dynamically imported module")) : Promise.resolve("the part")));
    const loading = load(part);
    await vi.advanceTimersByTimeAsync(500);
    node = "there";
    await vi.advanceTimersByTimeAsync(1000);
    await expect(loading).resolves.toBe("the part");
    expect(part).toHaveBeenCalledTimes(2);
  });
});

it("a part that is not there fails while the node is", async () => {
  await expect(load(() => Promise.reject(new TypeError("no such part")))).rejects.toThrow("no such part");
});

it("a proxy without a node behind it counts as gone, an answer of the node does not", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("{}", { status: 503, headers: { "Content-Type": "application/problem+json" } })));
  await ask();
  expect(connection.get()).toBeNull();
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("<h1>Bad Gateway</h1>", { status: 502, headers: { "Content-Type": "text/html" } })));
  await ask();
  expect(connection.get()).not.toBeNull();
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("ok")));
});
