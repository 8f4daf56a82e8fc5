/** That the node does not answer, and when it is asked again. */
export interface Lost {
  /** Attempts that failed. */
  attempts: number;
  /** When the next one begins (Date.now()). */
  nextAt: number;
}

const SECOND = 1000;
/** How often a page that is seen asks whether the node is there: a form may stand open for long without asking for anything. */
const EVERY = 15 * SECOND;
/** How long the node may take to say that it is there. */
const PATIENCE = 4 * SECOND;
/** A request without an answer for this long has the node asked whether it is there. */
const SLOW = 5 * SECOND;
/** The longest pause between two attempts. */
export const maxPause = 10 * SECOND;

/** The pause after so many attempts that failed: 1, 2, 4, … seconds. */
export const pauseAfter = (attempts: number) => Math.min(maxPause, SECOND * 2 ** Math.min(attempts, 10));

let state: Lost | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
/** Ends the requests that are on their way when the node is found to be gone. */
let flight = new AbortController();
const listeners = new Set<() => void>();

export const connection = {
  get: () => state,
  subscribe: (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
};

function set(next: Lost | null) {
  state = next;
  for (const listener of listeners) listener();
}

// What a proxy says when there is nothing behind it; the node itself explains its answers.
const fromProxy = (r: Response) => [502, 503, 504].includes(r.status) && !(r.headers.get("Content-Type") ?? "").includes("json");

/** Whether the node answers at all. It is asked without the session, which would not end otherwise. */
async function there(): Promise<boolean> {
  try {
    const answer = await fetch("/livez", { credentials: "omit", cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    await answer.text(); // one that is not read is cut off with its connection when the time is over
    return !fromProxy(answer);
  } catch {
    return false;
  }
}

/** The node did not answer: it is asked again and again, until it does. */
function lose() {
  if (!state) wait(0);
}

function wait(attempts: number) {
  clearTimeout(timer);
  const pause = pauseAfter(attempts);
  set({ attempts, nextAt: Date.now() + pause });
  timer = setTimeout(() => void tryNow(), pause);
}

function find() {
  if (!state) return;
  clearTimeout(timer);
  set(null);
}

/** Asks the node at once. */
export async function tryNow() {
  clearTimeout(timer);
  const found = await there();
  if (!state) return; // Another request had an answer meanwhile.
  if (found) return find();
  // Nobody waits for an answer that will not come.
  flight.abort(new TypeError("the node does not answer"));
  flight = new AbortController();
  wait(state.attempts + 1);
}

/** Looks whether the node is there, and says so where it is not. */
export async function look(): Promise<boolean> {
  if (state) return false;
  const found = await there();
  if (!found) lose();
  return found;
}

/** Looks from time to time while the page is seen. */
export function keepLooking(): () => void {
  const lookWhenSeen = () => {
    if (document.visibilityState === "visible") void (state ? tryNow() : look());
  };
  const every = setInterval(() => {
    if (!state) lookWhenSeen();
  }, EVERY);
  const events = ["online", "offline"] as const;
  for (const event of events) addEventListener(event, lookWhenSeen);
  return () => {
    clearInterval(every);
    for (const event of events) removeEventListener(event, lookWhenSeen);
  };
}

/** fetch that notices when the node is gone, and that it is back, and that ends with an error when the node is gone for good. */
export async function send(request: Request): Promise<Response> {
  const slow = setTimeout(() => void look(), SLOW);
  try {
    const response = await fetch(request, { signal: AbortSignal.any([request.signal, flight.signal]) });
    if (fromProxy(response)) lose();
    else find();
    return response;
  } catch (e) {
    if (e instanceof TypeError) lose();
    throw e;
  } finally {
    clearTimeout(slow);
  }
}

/** Loads a part of the console; without the node it waits until that is back. */
export async function load<T>(part: () => Promise<T>): Promise<T> {
  try {
    return await part();
  } catch (e) {
    if (!state && (await look())) throw e;
    await new Promise<void>((back) => {
      if (!connection.get()) return back();
      const stop = connection.subscribe(() => {
        if (connection.get()) return;
        stop();
        back();
      });
    });
    return part();
  }
}
