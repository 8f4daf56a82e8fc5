import { useRef, useState } from "react";
import { api, unwrap, type Schemas } from "../../lib/api";
import { readEvents } from "../../lib/events";
import { problemOf } from "../../lib/problem";
import type { Access } from "./serverdraft";

export type ConnectionStep = Schemas["Step"];
export type Connection = Schemas["Connection"];

interface State {
  steps: ConnectionStep[];
  done?: Connection;
  error?: unknown;
  busy: boolean;
}

const idle: State = { steps: [], busy: false };

/** Tests a connection, and shows its steps while it goes on. */
export function useConnectionTest() {
  const [state, setState] = useState<State>(idle);
  const latest = useRef(0);

  /** Reports whether the server can be connected to; undefined: another test took its place. */
  const run = async (url: string, access: Access = {}): Promise<boolean | undefined> => {
    const turn = ++latest.current;
    setState({ steps: [], busy: true });
    const show = (change: (s: State) => State) => {
      if (turn === latest.current) setState(change);
    };
    try {
      const body = await unwrap(api.POST("/v1/mcp/test-connection/steps", { body: { url, ...access }, parseAs: "stream" }));
      let ended = false;
      let ok = false;
      for await (const { event, data } of readEvents(body as unknown as ReadableStream<Uint8Array>)) {
        if (event === "step") {
          const step = data as ConnectionStep;
          show((s) => ({ ...s, steps: [...s.steps.filter((x) => x.name !== step.name), step] }));
        } else if (event === "done") {
          ended = ok = true;
          show((s) => ({ ...s, done: data as Connection }));
        } else if (event === "failed") {
          ended = true;
          const p = data as Schemas["Problem"];
          show((s) => ({ ...s, error: problemOf(p, new Response(null, { status: p.status })) }));
        }
      }
      if (!ended) throw new TypeError("the answer ended early");
      show((s) => ({ ...s, busy: false }));
      return turn === latest.current ? ok : undefined;
    } catch (error) {
      show((s) => ({ ...s, error, busy: false }));
      return turn === latest.current ? false : undefined;
    }
  };
  const reset = () => {
    latest.current++;
    setState(idle);
  };
  const wants = state.steps.find((s) => s.name === "authentication")?.wants;
  return { ...state, wants, run, reset };
}
