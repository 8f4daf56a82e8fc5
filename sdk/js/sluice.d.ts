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

  /**
   * What a filter or projection may export beside it, as `transformArguments`: gets the arguments of
   * the tool before the request is made, and returns those that take their place.
   */
  type Arguments = (args: Record<string, any>, call: Call) => unknown;

  /** As `transformError`: gets bodies of errors, which the default export gets otherwise. */
  type Errors = (body: any, call: Call) => unknown;

  /** The default export of an auth plugin: gets a request and returns what is set on it. */
  type Auth = (request: Request, call: Signing) => Patch | Promise<Patch>;

  /** A key. A plugin never has more of it than its handle, by which the gateway signs. */
  interface Key {
    readonly handle: number;
    /** The keyed hash or the signature of a message, of a string that of its UTF-8 form. */
    sign(message: string | Uint8Array): Uint8Array & { toHex(): string; toBase64(options?: { alphabet?: "base64" | "base64url"; omitPadding?: boolean }): string };
    /**
     * A key that is made of this one: the keyed hash of message, with prefix and the key as its
     * secret. As many derivations as the manifest says must be made before it can sign; only the
     * first may have a prefix.
     */
    derive(message: string | Uint8Array, prefix?: string | Uint8Array): Key;
  }

  /** A credential of the toolset, without its secret. */
  interface Credential extends Key {
    readonly type: "header" | "query" | "cookie" | "basic" | "bearer" | "token";
    /** The security scheme that it fulfils. */
    readonly scheme?: string;
    /** Of the type basic. */
    readonly username?: string;
  }

  /** A request that is about to be sent. */
  interface Request {
    readonly method: string;
    readonly url: string;
    readonly headers: readonly [name: string, value: string][];
    /** Base64, to read with `Uint8Array.fromBase64`; not there when it is longer than 1 MB. */
    readonly body?: string;
    readonly bodyBytes: number;
    /** Hexadecimal digits. */
    readonly bodySha256: string;
    /** To sign with: RFC 3339. A plugin has no clock. */
    readonly time: string;
    readonly credentials: readonly Credential[];
  }

  /** What is set on a request. */
  interface Patch {
    headers?: Record<string, string>;
    /** Appended. */
    query?: [name: string, value: string][];
    /** Base64; replaces the body. */
    body?: string;
    /** Headers with an access token behind a prefix such as "Bearer ". */
    tokens?: Record<string, { handle: number; prefix?: string }>;
  }

  /** What auth plugins know of a call. */
  interface Signing extends Call {
    /** The handle of the access token that was fetched under a name, while it is good. */
    token(name: string): number | undefined;
    /** Has one fetched by a POST to a host that was granted, and returns its handle. */
    fetchToken(name: string, request: { url: string; headers?: Record<string, string>; body?: string }): number;
  }
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
