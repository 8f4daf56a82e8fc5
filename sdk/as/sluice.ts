// For plugins of Sluice written in AssemblyScript: one file, no package.
//
//	import { filter, encode } from "./sluice";
//
//	export function transform_response(): i32 {
//	  return filter((body) => encode(…));
//	}
//
// "sluice plugin build" compiles it. The contract between plugins and gateways is
// docs/plugins/contract.md.

// @ts-ignore: decorators of functions are AssemblyScript's
@external("extism:host/env", "alloc") declare function x_alloc(n: u64): u64;
// @ts-ignore
@external("extism:host/env", "free") declare function x_free(at: u64): void;
// @ts-ignore
@external("extism:host/env", "length") declare function x_length(at: u64): u64;
// @ts-ignore
@external("extism:host/env", "load_u8") declare function x_load_u8(at: u64): u32;
// @ts-ignore
@external("extism:host/env", "load_u64") declare function x_load_u64(at: u64): u64;
// @ts-ignore
@external("extism:host/env", "store_u8") declare function x_store_u8(at: u64, v: u32): void;
// @ts-ignore
@external("extism:host/env", "store_u64") declare function x_store_u64(at: u64, v: u64): void;
// @ts-ignore
@external("extism:host/env", "input_length") declare function x_input_length(): u64;
// @ts-ignore
@external("extism:host/env", "input_load_u8") declare function x_input_load_u8(at: u64): u32;
// @ts-ignore
@external("extism:host/env", "input_load_u64") declare function x_input_load_u64(at: u64): u64;
// @ts-ignore
@external("extism:host/env", "output_set") declare function x_output_set(at: u64, n: u64): void;
// @ts-ignore
@external("extism:host/env", "error_set") declare function x_error_set(at: u64): void;
// @ts-ignore
@external("extism:host/env", "config_get") declare function x_config_get(key: u64): u64;
// @ts-ignore
@external("extism:host/env", "log_info") declare function x_log_info(at: u64): void;
// @ts-ignore
@external("extism:host/env", "log_warn") declare function x_log_warn(at: u64): void;
// @ts-ignore
@external("extism:host/user", "sluice_call") declare function x_call(at: u64): u64;

/** Runs a filter or projection on the body of the answer; what it returns is the new body. */
export function filter(run: (body: Uint8Array) => Uint8Array): i32 {
  return entry(run);
}

/** Runs a workflow on the arguments of its tool, a JSON object; what it returns is the answer. */
export function workflow(run: (args: Uint8Array) => Uint8Array): i32 {
  return entry(run);
}

let failure: string | null = null;

function entry(run: (body: Uint8Array) => Uint8Array): i32 {
  failure = null;
  const out = run(input());
  const why = failure;
  if (why !== null) {
    x_error_set(put(encode(why)));
    return 1;
  }
  x_output_set(put(out), <u64>out.length);
  return 0;
}

/** Makes the call fail with a message. Return its result from the function of the plugin. */
export function fail(message: string): Uint8Array {
  failure = message;
  return new Uint8Array(0);
}

/** The UTF-8 bytes of a string. */
export function encode(s: string): Uint8Array {
  return Uint8Array.wrap(String.UTF8.encode(s));
}

/** The string that UTF-8 bytes are. */
export function decode(b: Uint8Array): string {
  return String.UTF8.decodeUnsafe(b.dataStart, b.byteLength);
}

/**
 * A setting of the plugin, or what the contract names of the call ("sluice.tool",
 * "sluice.arguments"); "" when there is none.
 */
export function setting(name: string): string {
  const key = put(encode(name));
  const value = take(x_config_get(key));
  x_free(key);
  return decode(value);
}

/** Writes a line to the gateway's log. */
export function log(line: string): void {
  x_log_info(put(encode(line)));
}

/** Writes a line that matters to the gateway's log. */
export function warn(line: string): void {
  x_log_warn(put(encode(line)));
}

/** A call of a tool. The arguments are a JSON object. */
export class Call {
  constructor(public tool: string, public args: string) {}
}

/** What a call gave: one of value (JSON as it is), text and error is not null. */
export class Result {
  /** HTTP status of the upstream; 0 when there was no answer. */
  status: i32 = 0;
  value: string | null = null;
  text: string | null = null;
  error: string | null = null;

  /** Reads {"status":200,"value":…}, where text or error can be in the place of value. */
  static parse(line: string): Result {
    const r = new Result();
    let at = '{"status":'.length;
    for (; at < line.length; at++) {
      const digit = line.charCodeAt(at) - 48;
      if (digit < 0 || digit > 9) break;
      r.status = r.status * 10 + digit;
    }
    const colon = line.indexOf(":", at);
    const name = line.slice(at, colon);
    const value = line.slice(colon + 1, line.length - 1);
    if (name == ',"value"') r.value = value;
    else if (name == ',"text"') r.text = unquote(value);
    else r.error = unquote(value);
    return r;
  }
}

/** Makes calls of tools for a workflow, all at once, and returns their results in their order. */
export function call(calls: Call[]): Result[] {
  let lines = "";
  for (let i = 0; i < calls.length; i++) {
    lines += '{"tool":"' + calls[i].tool + '","arguments":' + calls[i].args + "}\n";
  }
  const at = put(encode(lines));
  const answers = decode(take(x_call(at)));
  x_free(at);
  const out = new Array<Result>();
  for (let from = 0; from < answers.length; ) {
    let to = answers.indexOf("\n", from);
    if (to < 0) to = answers.length;
    out.push(Result.parse(answers.slice(from, to)));
    from = to + 1;
  }
  return out;
}

/** The text of a JSON string. */
export function unquote(s: string): string {
  let out = "";
  let from = 1;
  for (let i = 1; i < s.length - 1; i++) {
    if (s.charCodeAt(i) != 92) continue;
    out += s.slice(from, i);
    const c = s.charAt(++i);
    if (c == "u") {
      out += String.fromCharCode(<i32>parseInt(s.slice(i + 1, i + 5), 16));
      i += 4;
    } else {
      out += c == "n" ? "\n" : c == "t" ? "\t" : c == "r" ? "\r" : c == "b" ? "\b" : c == "f" ? "\f" : c;
    }
    from = i + 1;
  }
  return out + s.slice(from, s.length - 1);
}

function input(): Uint8Array {
  const n = x_input_length();
  const b = new Uint8Array(<i32>n);
  const to = b.dataStart;
  let i: u64 = 0;
  for (; i + 8 <= n; i += 8) store<u64>(to + <usize>i, x_input_load_u64(i));
  for (; i < n; i++) store<u8>(to + <usize>i, <u8>x_input_load_u8(i));
  return b;
}

/** Copies bytes to the exchange memory and returns their offset there. */
function put(b: Uint8Array): u64 {
  const n = <u64>b.length;
  if (n == 0) return 0;
  const at = x_alloc(n);
  if (at == 0) throw new Error("no memory for what the host gets");
  const from = b.dataStart;
  let i: u64 = 0;
  for (; i + 8 <= n; i += 8) x_store_u64(at + i, load<u64>(from + <usize>i));
  for (; i < n; i++) x_store_u8(at + i, load<u8>(from + <usize>i));
  return at;
}

/** Copies a block of the exchange memory and frees it. */
function take(at: u64): Uint8Array {
  if (at == 0) return new Uint8Array(0);
  const n = x_length(at);
  const b = new Uint8Array(<i32>n);
  const to = b.dataStart;
  let i: u64 = 0;
  for (; i + 8 <= n; i += 8) store<u64>(to + <usize>i, x_load_u64(at + i));
  for (; i < n; i++) store<u8>(to + <usize>i, <u8>x_load_u8(at + i));
  x_free(at);
  return b;
}

/** What "throw" and failed assertions end in: the reason is logged, and the instance dropped. */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  warn((file ? file : "") + ":" + line.toString() + ":" + column.toString() + ": " + (message ? message : "aborted"));
  unreachable();
}
