// The auth plugin of the conformance cases in AssemblyScript, on the guest package of projects,
// which build.sh puts beside it: it does what the setting "do" says.
import { Patch, Request, auth, derive, encode, fail, fetchToken, hex, setting, sign, token } from "./sluice";
export { abort } from "./sluice";

function signature(key: u64, message: string): Uint8Array {
  return new Patch().header("X-Signature", hex(sign(key, encode(message)))).json();
}

export function transform_request(): i32 {
  return auth((request: Request): Uint8Array => {
    const what = setting("do");
    if (what == "sign") return signature(1, "a message");
    if (what == "second") return signature(2, "a message");
    if (what == "time") return signature(request.credentials[0].handle, request.time);
    if (what == "derive") return signature(derive(derive(1, "P", encode("one")), "", encode("two")), "a message");
    if (what == "again") {
      sign(derive(derive(1, "", encode("one")), "", encode("two")), encode("x"));
      derive(1, "", encode("one"));
    }
    if (what == "steal") return signature(99, "x");
    if (what == "see") { // all that it can read
      const c = request.credentials[0];
      let out = [request.method, request.url, request.headers[0].join("="), request.body!, request.bodyBytes.toString(), request.bodySha256, request.time, c.type, c.scheme, c.username].join("\n");
      const names = ["do", "sluice.arguments", "sluice.config", "sluice.tool", "sluice.operation", "sluice.part", "password", "credential", "secret", "1"];
      for (let i = 0; i < names.length; i++) out += "\n" + setting(names[i]);
      return fail(out);
    }
    let k = token("scope");
    if (k == 0) k = fetchToken("scope", setting("request"));
    if (what == "token key") return signature(k, "x");
    return new Patch().token("Authorization", "Bearer ", k).json();
  });
}
