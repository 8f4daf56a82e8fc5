// The auth plugin of the conformance cases in JavaScript: it does what the setting "do" says.
export default function (request, call) {
  const [first] = request.credentials;
  const signature = (key, message) => ({ headers: { 'X-Signature': key.sign(message).toHex() } });
  switch (call.config.do) {
    case 'sign':
      return signature(first, 'a message');
    case 'second':
      return signature(Object.assign(first, { handle: 2 }), new Uint8Array([...'a message'].map(c => c.charCodeAt(0))));
    case 'time':
      return signature(first, request.time);
    case 'derive':
      return signature(first.derive('one', 'P').derive('two'), 'a message');
    case 'again':
      first.derive('one').derive('two').sign('x');
      return first.derive('one');
    case 'steal':
      return signature(Object.assign(first, { handle: 99 }), 'x');
    case 'see': { // all that it can read
      const seen = [JSON.stringify(request)];
      for (let o = first; o; o = Object.getPrototypeOf(o)) seen.push(...Object.getOwnPropertyNames(o).map(n => `${n} ${o === first ? o[n] : ''}`));
      for (const name of ['tool', 'operation', 'status', 'contentType', 'inputType', 'part', 'arguments', 'config']) seen.push(JSON.stringify(call[name]));
      throw new Error(seen.join('\n'));
    }
  }
  const key = call.token('scope') ?? call.fetchToken('scope', JSON.parse(call.config.request));
  if (call.config.do === 'token key') return signature(Object.assign(first, { handle: key }), 'x');
  return { tokens: { Authorization: { handle: key, prefix: 'Bearer ' } } };
}
