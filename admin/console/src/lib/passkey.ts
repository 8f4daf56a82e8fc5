import { useQuery } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./api";
import { Problem } from "./problem";

/** How people sign in to this node. */
export const useSignInWays = () => useQuery({ queryKey: ["sign-in"], queryFn: () => unwrap(api.GET("/v1/sign-in")), staleTime: Infinity }).data;

/** Whether passkeys work here: the browser has them, and the console is at the host name that they belong to. */
export const usable = (host: string | undefined) => host !== undefined && host === location.hostname && "credentials" in navigator && "PublicKeyCredential" in globalThis;

/** Bytes as the API writes them. */
export function toBase64URL(bytes: ArrayBuffer): string {
  const text = Array.from(new Uint8Array(bytes), (b) => String.fromCharCode(b)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export const fromBase64URL = (text: string) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

/** What a browser says when a person or a device did not go on, in words of the page. */
const words: Record<string, string> = {
  NotAllowedError: "It was cancelled, it took too long, or this device has no passkey for this console.",
  AbortError: "It was cancelled.",
  InvalidStateError: "This device has a passkey of yours for this console already.",
  SecurityError: "This browser uses no passkeys at this address.",
};

async function asked(credential: Promise<Credential | null>): Promise<PublicKeyCredential> {
  const made = await credential.catch((error: unknown) => {
    throw new Problem({ title: "The browser has no passkey for this", detail: error instanceof Error ? (words[error.name] ?? error.message) : String(error) });
  });
  if (!(made instanceof PublicKeyCredential)) throw new Problem({ title: "The browser has no passkey for this" });
  return made;
}

/** Has a passkey of this device sign in: what it signed, for the API. */
export async function signWithPasskey(): Promise<Schemas["Assertion"]> {
  const c = await unwrap(api.POST("/v1/session/passkey"));
  const made = await asked(
    navigator.credentials.get({
      publicKey: { challenge: fromBase64URL(c.challenge), rpId: c.rpId, timeout: c.timeout, userVerification: c.userVerification },
    }),
  );
  const r = made.response as AuthenticatorAssertionResponse;
  return {
    id: toBase64URL(made.rawId),
    clientDataJSON: toBase64URL(r.clientDataJSON),
    authenticatorData: toBase64URL(r.authenticatorData),
    signature: toBase64URL(r.signature),
    userHandle: toBase64URL(r.userHandle ?? new ArrayBuffer(0)),
  };
}

/** Makes a passkey on this device, and registers it. */
export async function makePasskey(name: string, current: string): Promise<Schemas["Passkey"]> {
  const c = await unwrap(api.POST("/v1/passkeys/challenge", { body: current ? { current } : {} }));
  const made = await asked(
    navigator.credentials.create({
      publicKey: {
        challenge: fromBase64URL(c.challenge),
        rp: c.rp,
        user: { ...c.user, id: fromBase64URL(c.user.id) },
        pubKeyCredParams: c.pubKeyCredParams,
        excludeCredentials: c.excludeCredentials.map((k) => ({ type: k.type, id: fromBase64URL(k.id), transports: (k.transports ?? []) as AuthenticatorTransport[] })),
        authenticatorSelection: c.authenticatorSelection,
        attestation: c.attestation,
        timeout: c.timeout,
      },
    }),
  );
  const r = made.response as AuthenticatorAttestationResponse;
  return unwrap(
    api.POST("/v1/passkeys", {
      body: {
        name,
        id: toBase64URL(made.rawId),
        clientDataJSON: toBase64URL(r.clientDataJSON),
        attestationObject: toBase64URL(r.attestationObject),
        transports: r.getTransports().slice(0, 8),
      },
    }),
  );
}
