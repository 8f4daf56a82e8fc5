// What a plugin finds beside the language: call, tools, ToolError and console. It is kept
// small, because every plugin carries it.
(host => {
  const { JSON, Error, Object, String, BigInt, Map, Array, Promise, Number, RegExp } = globalThis;
  const { stringify, parse } = JSON;

  // Whole numbers that a number does not hold are BigInts, and go out as they came.
  let mark, marked;
  Object.defineProperty(BigInt.prototype, 'toJSON', { value() { marked++; return mark + this } });
  const revive = v => {
    if (typeof v === 'string' && v.startsWith(mark)) {
      const n = Number(v.slice(mark.length));
      return Number.isSafeInteger(n) ? n : BigInt(v.slice(mark.length));
    }
    if (Array.isArray(v)) for (let i = 0; i < v.length; i++) v[i] = revive(v[i]);
    else if (v && typeof v === 'object') for (const k of Object.keys(v)) {
      const w = v[k], made = revive(w);
      if (made !== w) Object.defineProperty(v, k, { value: made, writable: true, enumerable: true, configurable: true });
    }
    return v;
  };
  const read = text => {
    for (let k = 0; ; k++) {
      const changed = host.mark(text, `\\u0000${k}:`);
      if (changed === undefined) return parse(text);
      if (text.includes(`\\u0000${k}:`)) continue;
      mark = `\0${k}:`;
      return revive(parse(changed));
    }
  };
  const write = v => {
    for (let k = 0; ; k++) {
      mark = `\0${k}:`;
      marked = 0;
      const text = stringify(v);
      if (!marked || text === undefined) return text;
      let seen = 0;
      const out = text.replace(RegExp(`"\\\\u0000${k}:(-?\\d+)"`, 'g'), (_, digits) => (seen++, digits));
      if (seen === marked) return out;
    }
  };

  class Call {
    #known = new Map();
    #setting(name, make) {
      if (!this.#known.has(name)) {
        const v = host.setting('sluice.' + name);
        this.#known.set(name, v === undefined ? v : make ? make(v) : v);
      }
      return this.#known.get(name);
    }
    get tool() { return this.#setting('tool') }
    get operation() { return this.#setting('operation') }
    get status() { return this.#setting('status', Number) }
    get contentType() { return this.#setting('content_type') }
    get inputType() { return this.#setting('input_type') }
    get part() { return this.#setting('part') }
    get arguments() { return this.#setting('arguments', read) ?? {} }
    get config() { return this.#setting('config', read) ?? {} }
  }

  // Calls of tools are made at once as soon as nothing else can go on.
  class ToolError extends Error { get name() { return 'ToolError' } }
  let waiting = [];
  const make = () => {
    if (!waiting.length) return false;
    const calls = waiting;
    waiting = [];
    const results = host.call(calls.map(c => write({ tool: c.tool, arguments: c.args })).join('\n')).split('\n');
    calls.forEach((c, i) => {
      const r = read(results[i]);
      if (r.error === undefined) return c.resolve('value' in r ? r.value : r.text);
      c.error.message = r.error;
      c.error.tool = c.tool;
      if (r.status) c.error.status = r.status;
      c.reject(c.error);
    });
    return true;
  };
  if (host.tools) {
    const tools = new Proxy({}, {
      get: (_, tool) => typeof tool === 'symbol' ? undefined : (args = {}) => {
        const error = new ToolError();
        return new Promise((resolve, reject) => waiting.push({ tool, args, error, resolve, reject }));
      },
    });
    Object.defineProperty(globalThis, 'tools', { value: tools, enumerable: true });
    Object.defineProperty(globalThis, 'ToolError', { value: ToolError, writable: true, configurable: true });
  }

  // Auth plugins: a key is a handle, by which the gateway signs.
  class Key {
    constructor(known) { Object.assign(this, known) }
    sign(message) { return host.sign(this.handle, message) }
    derive(message, prefix = '') { return new Key({ handle: host.derive(this.handle, prefix, message) }) }
  }
  class Signing extends Call {
    token(name) { return host.token(name) || undefined }
    fetchToken(name, request) { return host.fetchToken(name, write(request)) }
  }

  const show = v => typeof v === 'string' ? v : v instanceof Error ? `${v.name}: ${v.message}` : typeof v === 'object' && v ? write(v) : String(v);
  const say = warn => (...values) => host.log(warn, values.map(show).join(' '));
  globalThis.console = { debug: say(false), log: say(false), info: say(false), warn: say(true), error: say(true) };
  Object.defineProperty(globalThis.Math, 'random', { value: host.random, writable: true, configurable: true });

  return {
    pending: make,
    answer: async (plugin, input, json) => {
      waiting = [];
      if (json) input = read(input);
      if (host.keys) input.credentials = input.credentials.map(c => new Key(c));
      const v = await plugin(input, host.keys ? new Signing() : new Call());
      if (v instanceof Uint8Array || typeof v === 'string' && (host.text || !json)) return v;
      const text = write(v);
      if (text === undefined) throw new Error('the plugin returned nothing: return the answer');
      return text;
    },
  };
})
