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
// @ts-ignore
@external("extism:host/user", "sluice_derive") declare function x_derive(handle: u64, prefix: u64, message: u64): u64;
// @ts-ignore
@external("extism:host/user", "sluice_sign") declare function x_sign(handle: u64, message: u64): u64;
// @ts-ignore
@external("extism:host/user", "sluice_token") declare function x_token(name: u64): u64;
// @ts-ignore
@external("extism:host/user", "sluice_token_fetch") declare function x_token_fetch(name: u64, request: u64): u64;

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

/** Runs an auth plugin on the request that it signs; what it returns is Patch.json. */
export function auth(run: (request: Request) => Uint8Array): i32 {
  signer = run;
  return entry((body: Uint8Array): Uint8Array => signer(Request.parse(decode(body))));
}

let signer: (request: Request) => Uint8Array = (request: Request): Uint8Array => fail("no function was given");

/** A credential of the toolset without its secret. The handle stands for that. */
export class Credential {
  handle: u64 = 0;
  /** header, query, cookie, basic, bearer or token. */
  type: string = "";
  /** The security scheme that it fulfils; may be empty. */
  scheme: string = "";
  /** basic: the part that is no secret. */
  username: string = "";
}

/** The request that an auth plugin signs, as it is about to be sent. */
export class Request {
  method: string = "";
  url: string = "";
  /** Names and values, Host among them. */
  headers: string[][] = [];
  /** Base64; null when it is longer than 1 MB. */
  body: string | null = null;
  bodyBytes: u64 = 0;
  /** Lower-case hexadecimal digits. */
  bodySha256: string = "";
  /** RFC 3339, to sign with: a plugin has no clock. */
  time: string = "";
  credentials: Credential[] = [];

  /** Reads what the gateway wrote: JSON without blanks, whose objects have no member twice. */
  static parse(json: string): Request {
    const r = new Request();
    const reader = new Reader(json);
    for (let name = reader.member(); name.length > 0; name = reader.member()) {
      if (name == "method") r.method = reader.text();
      else if (name == "url") r.url = reader.text();
      else if (name == "headers") {
        while (reader.item()) {
          const pair = new Array<string>();
          while (reader.item()) pair.push(reader.text());
          r.headers.push(pair);
        }
      } else if (name == "body") r.body = reader.text();
      else if (name == "bodyBytes") r.bodyBytes = reader.whole();
      else if (name == "bodySha256") r.bodySha256 = reader.text();
      else if (name == "time") r.time = reader.text();
      else if (name == "credentials") {
        while (reader.item()) {
          const c = new Credential();
          for (let key = reader.member(); key.length > 0; key = reader.member()) {
            if (key == "handle") c.handle = reader.whole();
            else if (key == "type") c.type = reader.text();
            else if (key == "scheme") c.scheme = reader.text();
            else if (key == "username") c.username = reader.text();
            else reader.skip();
          }
          r.credentials.push(c);
        }
      } else reader.skip();
    }
    return r;
  }
}

/** What is set on a request. */
export class Patch {
  private headers: string = "";
  private queries: string = "";
  private tokens: string = "";
  private replaced: string | null = null;

  header(name: string, value: string): Patch {
    this.headers += (this.headers.length > 0 ? "," : "") + quote(name) + ":" + quote(value);
    return this;
  }
  /** Appends a parameter to the query. */
  query(name: string, value: string): Patch {
    this.queries += (this.queries.length > 0 ? "," : "") + "[" + quote(name) + "," + quote(value) + "]";
    return this;
  }
  /** Sets a header with an access token, of its handle, behind a prefix such as "Bearer ". */
  token(name: string, prefix: string, handle: u64): Patch {
    this.tokens += (this.tokens.length > 0 ? "," : "") + quote(name) + ':{"handle":' + handle.toString() + ',"prefix":' + quote(prefix) + "}";
    return this;
  }
  /** Replaces the body, by base64. */
  body(base64: string): Patch {
    this.replaced = base64;
    return this;
  }
  json(): Uint8Array {
    let out = '{"headers":{' + this.headers + "}";
    if (this.queries.length > 0) out += ',"query":[' + this.queries + "]";
    if (this.tokens.length > 0) out += ',"tokens":{' + this.tokens + "}";
    const body = this.replaced;
    if (body !== null) out += ',"body":' + quote(body);
    return encode(out + "}");
  }
}

/** Makes a key: the keyed hash of message, with prefix and the key of the handle as its secret. Only the first derivation may have a prefix. */
export function derive(handle: u64, prefix: string, message: Uint8Array): u64 {
  return x_derive(handle, put(encode(prefix)), put(message));
}

/** The keyed hash or the signature of a message. The key must have been derived as often as the manifest says. */
export function sign(handle: u64, message: Uint8Array): Uint8Array {
  return take(x_sign(handle, put(message)));
}

/** The handle of the access token that was fetched under a name; 0: there is none that is good. */
export function token(name: string): u64 {
  return x_token(put(encode(name)));
}

/** Has an access token fetched: {"url":"https://…","headers":{},"body":"…"}. */
export function fetchToken(name: string, request: string): u64 {
  return x_token_fetch(put(encode(name)), put(encode(request)));
}

/** Lower-case hexadecimal digits, as most APIs want signatures. */
export function hex(bytes: Uint8Array): string {
  let out = "";
  for (let i = 0; i < bytes.length; i++) out += "0123456789abcdef".charAt(bytes[i] >> 4) + "0123456789abcdef".charAt(bytes[i] & 15);
  return out;
}

/** A JSON string. */
export function quote(text: string): string {
  const parts: string[] = ['"'];
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c != 34 && c != 92 && c >= 32) continue;
    parts.push(text.slice(from, i));
    parts.push(c >= 32 ? "\\" + text.charAt(i) : "\\u00" + "0123456789abcdef".charAt(c >> 4) + "0123456789abcdef".charAt(c & 15));
    from = i + 1;
  }
  parts.push(text.slice(from));
  parts.push('"');
  return parts.join("");
}

/** Reads JSON from front to back, where its form is known. */
class Reader {
  at: i32 = 0;
  constructor(public json: string) {}

  /** Enters an object, or goes on in it, and returns the name of its next member; "" leaves it. */
  member(): string {
    const c = this.json.charCodeAt(this.at++);
    if (c == 125 || c == 123 && this.json.charCodeAt(this.at) == 125 && this.at++ > 0) return "";
    const name = this.text();
    this.at++; // the colon
    return name;
  }
  /** Enters a list, or goes on in it; false leaves it. */
  item(): bool {
    const c = this.json.charCodeAt(this.at++);
    return c != 93 && !(c == 91 && this.json.charCodeAt(this.at) == 93 && this.at++ > 0);
  }
  text(): string {
    const from = this.at++;
    for (; this.at < this.json.length && this.json.charCodeAt(this.at) != 34; this.at++) {
      if (this.json.charCodeAt(this.at) == 92) this.at++;
    }
    return unquote(this.json.slice(from, ++this.at));
  }
  whole(): u64 {
    let n: u64 = 0;
    for (; this.at < this.json.length; this.at++) {
      const digit = this.json.charCodeAt(this.at) - 48;
      if (digit < 0 || digit > 9) break;
      n = n * 10 + digit;
    }
    return n;
  }
  /** Passes over a value of a member that is not known. */
  skip(): void {
    let depth = 0;
    for (; this.at < this.json.length; this.at++) {
      const c = this.json.charCodeAt(this.at);
      if (depth == 0 && (c == 44 || c == 125 || c == 93)) return;
      if (c == 34) {
        this.text();
        this.at--;
      } else if (c == 123 || c == 91) depth++;
      else if (c == 125 || c == 93) depth--;
    }
  }
}

/** The text of a JSON string. */
export function unquote(s: string): string {
  const parts = new Array<string>(); // joined once: memory is not given back during a call
  let from = 1;
  for (let i = 1; i < s.length - 1; i++) {
    if (s.charCodeAt(i) != 92) continue;
    parts.push(s.slice(from, i));
    const c = s.charAt(++i);
    if (c == "u") {
      parts.push(String.fromCharCode(<i32>parseInt(s.slice(i + 1, i + 5), 16)));
      i += 4;
    } else {
      parts.push(c == "n" ? "\n" : c == "t" ? "\t" : c == "r" ? "\r" : c == "b" ? "\b" : c == "f" ? "\f" : c);
    }
    from = i + 1;
  }
  parts.push(s.slice(from, s.length - 1));
  return parts.join("");
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
