import type { QueryClient } from "@tanstack/react-query";
import type { Schemas } from "./api";

type Subject = Schemas["ChangedRecords"]["subjects"][number];

/** What is read again when records of a kind changed, by the first part of its key; not what says in its meta that it is to stay still. */
const keys: Record<Subject, readonly string[]> = {
  jobs: ["jobs"],
  alerts: ["alerts", "edges"], // An edge that is silent, behind or failing is an alert.
  toolsets: ["toolsets", "edges"], // Not one toolset: a form that is being filled in keeps the version that it began with.
  usage: ["usage", "calls"],
  records: ["domains", "edges", "tokens", "members", "sessions", "passkeys", "grants", "audit", "plugins", "catalog"],
};

/** How long a stream that the node refused is not asked for again. */
const AGAIN = 30_000;

let told = false;
const bell = new Set<() => void>();

/** Whether the node reports changes at the moment. */
export const isTold = () => told;

/** Waits until a job changed, or for so many milliseconds: longer where the node reports changes. */
export const jobChanged = (ms: number) =>
  new Promise<void>((done) => {
    const end = () => {
      clearTimeout(timer);
      bell.delete(end);
      done();
    };
    const timer = setTimeout(end, told ? ms * 3 : ms);
    bell.add(end);
  });

/** How often something is read again: what the node reports seldom, as a precaution. */
export const every = (ms: number) => () => (told ? Math.max(ms, 60_000) : ms);

/** Reads again what the node says has changed, while the page is seen: a browser has few connections to one node. */
export function follow(queries: QueryClient): () => void {
  let source: EventSource | undefined;
  let last = "";
  let again: ReturnType<typeof setTimeout> | undefined;

  const changed = (subjects: readonly Subject[]) => {
    if (subjects.includes("jobs")) for (const end of [...bell]) end();
    const stale = new Set<unknown>(subjects.flatMap((s) => keys[s]));
    if (stale.size > 0) void queries.invalidateQueries({ predicate: (q) => stale.has(q.queryKey[0]) && !q.meta?.still });
  };
  const close = () => {
    clearTimeout(again);
    source?.close();
    source = undefined;
    told = false;
  };
  const open = () => {
    if (source || document.visibilityState !== "visible") return;
    const began = new EventSource(`/v1/changes${last ? `?lastEventId=${encodeURIComponent(last)}` : ""}`);
    source = began;
    began.addEventListener("changed", (event) => {
      told = true;
      last = event.lastEventId;
      changed((JSON.parse(event.data as string) as Schemas["ChangedRecords"]).subjects);
    });
    began.addEventListener("error", () => {
      told = false; // A connection that is lost the browser makes again by itself, with the id of the last event.
      if (began.readyState !== EventSource.CLOSED || source !== began) return;
      close();
      again = setTimeout(open, AGAIN);
    });
  };
  const seen = () => (document.visibilityState === "visible" ? open() : close());
  document.addEventListener("visibilitychange", seen);
  open();
  return () => {
    document.removeEventListener("visibilitychange", seen);
    close();
  };
}
