// What a plugin of Sluice in JavaScript finds beside the language, for editors and type
// checkers. A plugin needs nothing at run time but plugin.js.

declare namespace sluice {
  /** What is known of a call. */
  interface Call {
    /** Name of the tool that was called. */
    readonly tool: string;
    /** Method and path: `GET /pets/{id}`. */
    readonly operation: string;
    /** Status of the upstream's answer; not of workflows. */
    readonly status?: number;
    /** Media type of the upstream's answer; not of workflows. */
    readonly contentType?: string;
    /** Media type of the input: `application/json` for every JSON document. */
    readonly inputType?: string;
    /** Which part of the answer the input is: answer, error, metadata or question. */
    readonly part?: "answer" | "error" | "metadata" | "question";
    /** The caller's arguments. */
    readonly arguments: Record<string, any>;
    /** The configuration of the binding, as `config` in plugin.json describes it. */
    readonly config: Record<string, any>;
  }

  /**
   * The default export of a filter or projection. The answer is a JSON value, a string when it is
   * text, bytes when it is neither; what is returned goes on in its place. Whole numbers beyond
   * 2^53 are BigInts, and stay what they are.
   */
  type Filter = (answer: any, call: Call) => unknown;

  /** The default export of a workflow: gets the arguments of its tool and returns the answer. */
  type Workflow = (args: any, call: Call) => unknown;
}

/**
 * Workflows: calls the tool of that name. Calls that are not awaited one by one
 * (`Promise.all`) are made at once. A call that fails is rejected with a {@link ToolError}.
 */
declare const tools: Record<string, (args?: Record<string, unknown>) => Promise<any>>;

/** Why a call of a tool failed. */
declare class ToolError extends Error {
  readonly tool: string;
  /** Status of the upstream's answer; none when there was no answer. */
  readonly status?: number;
}

/** Lines for the gateway's log. */
declare const console: Record<"debug" | "log" | "info" | "warn" | "error", (...values: unknown[]) => void>;
