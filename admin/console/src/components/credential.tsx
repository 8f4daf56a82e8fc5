import { Select, TextArea, TextField } from "./field";
import type { Schemas } from "../lib/api";
import { faultAt } from "../lib/problem";

export type Auth = Schemas["SetAuth"];
export type Method = Schemas["AuthMethod"];
type Stored = Schemas["Authentication"] | Schemas["AuthenticationItem"];

interface Entry {
  key: keyof Auth;
  label: string;
  secret?: boolean;
  optional?: boolean;
  hint?: string;
  /** It has several lines. */
  text?: boolean;
}

/** What stands before a token in the header Authorization. */
const BEARER = "Bearer ";

const client: Entry[] = [
  { key: "clientId", label: "Client ID" },
  { key: "clientSecret", label: "Client secret", secret: true },
];

/** What each kind is called and has to be given; a kind of OAuth is its grant, too. */
const kinds = {
  header: {
    title: "Key in a header",
    entries: [
      { key: "headerName", label: "Header name" },
      { key: "headerPrefix", label: "Header prefix", optional: true, hint: "Put directly before the key, with its own space." },
      { key: "apiKey", label: "API key", secret: true },
    ],
  },
  bearer: { title: "Bearer token", entries: [{ key: "token", label: "Token", secret: true }] },
  basic: {
    title: "User name and password",
    entries: [
      { key: "username", label: "User name" },
      { key: "password", label: "Password", secret: true },
    ],
  },
  query: {
    title: "Key in the query",
    entries: [
      { key: "parameterName", label: "Query parameter" },
      { key: "apiKey", label: "API key", secret: true },
    ],
  },
  cookie: {
    title: "Key in a cookie",
    entries: [
      { key: "cookieName", label: "Cookie name" },
      { key: "apiKey", label: "API key", secret: true },
    ],
  },
  oauth2: { title: "OAuth 2 client credentials", entries: [{ key: "tokenUrl", label: "Token URL" }, ...client] },
  body: {
    title: "Key in the body",
    entries: [
      { key: "memberName", label: "Member of the body" },
      { key: "apiKey", label: "API key", secret: true },
    ],
  },
  login: {
    title: "Login with a browser (OAuth 2)",
    entries: [
      { key: "clientId", label: "Client ID", optional: true, hint: "Left empty, one is registered where the server allows it." },
      { key: "clientSecret", label: "Client secret", secret: true, optional: true },
      { key: "issuer", label: "Issuer", optional: true, hint: "Its metadata names the two addresses below." },
      { key: "authorizationUrl", label: "Authorization URL", optional: true },
      { key: "tokenUrl", label: "Token URL", optional: true },
      { key: "resource", label: "Resource", optional: true, hint: "What tokens are for. Of an MCP server, its address, and then nothing else is needed." },
    ],
  },
  oidc: {
    title: "Login with a browser (OpenID Connect)",
    entries: [
      { key: "issuer", label: "Issuer" },
      { key: "clientId", label: "Client ID" },
      { key: "clientSecret", label: "Client secret", secret: true, optional: true },
    ],
  },
  mtls: {
    title: "Client certificate",
    entries: [
      { key: "certificate", label: "Certificate chain, as PEM", text: true },
      { key: "privateKey", label: "Private key, as PEM", secret: true, text: true },
    ],
  },
} satisfies Record<string, { title: string; entries: Entry[] }>;

export type Kind = keyof typeof kinds;

/** The kinds of the wizard: what needs a login comes after it. */
export const keyKinds: readonly Kind[] = ["header", "bearer", "basic", "query", "cookie", "oauth2"];

export const allKinds = Object.keys(kinds) as Kind[];

const entriesOf = (kind: Kind): Entry[] => kinds[kind].entries;

/** The kind of a configuration or a suggestion; undefined: it is none of those that are entered here. */
export function kindOf(auth: { authType: string; grant?: string } | undefined): Kind | undefined {
  if (auth?.authType === "oauth2") return auth.grant === "client_credentials" ? "oauth2" : "login";
  return allKinds.find((kind) => kind === auth?.authType);
}

export const titleOf = (auth: { authType: string; grant?: string } | undefined) => {
  const kind = kindOf(auth);
  return kind ? kinds[kind].title : undefined;
};

/** The type, and where it has two the grant, that a kind stands for. */
function ofKind(kind: Kind): Pick<Auth, "authType" | "grant"> {
  if (kind === "oauth2") return { authType: "oauth2", grant: "client_credentials" };
  if (kind === "login") return { authType: "oauth2", grant: "authorization_code" };
  if (kind === "oidc") return { authType: "oidc", grant: "authorization_code" };
  return { authType: kind };
}

/** What the form begins with: what is set without its secret, or what the specification suggests. */
export function firstOf(set: Stored | undefined, methods: Method[], offered: readonly Kind[]): Auth {
  const given = [set, ...methods.map((m) => m.suggestion)].find((a) => {
    const kind = kindOf(a);
    return kind !== undefined && offered.includes(kind);
  });
  const kind = kindOf(given);
  if (!given || !kind) return { authType: "header", headerName: "Authorization", headerPrefix: BEARER };
  const kept = [...entriesOf(kind).map((e) => e.key), ...(given === set ? (["scheme", "audience", "tokenAuthMethod", "scopes", "perUser"] as const) : [])];
  return { ...Object.fromEntries(Object.entries(given).filter(([key, value]) => (kept as string[]).includes(key) && typeof value !== "object")), ...scopes(given, set), ...ofKind(kind) };
}

const scopes = (given: { scopes?: string[] }, set: Stored | undefined): Pick<Auth, "scopes"> => (given === set && given.scopes ? { scopes: given.scopes } : {});

/** What must be entered and is not. A stored secret of the same kind may stay. */
export function missingOf(auth: Auth, stored?: Stored): (keyof Auth)[] {
  const kind = kindOf(auth);
  const kept = stored !== undefined && kindOf(stored) === kind;
  return kind ? entriesOf(kind).filter((e) => !e.optional && !(kept && (e.secret || e.key === "certificate")) && !auth[e.key]).map((e) => e.key) : [];
}

/**
 * The credentials that the specification wants together, of which the first one that fits
 * decides; one where it wants one.
 */
export function togetherOf(methods: Method[], offered: readonly Kind[]): Auth[] {
  const fits = (m: Method) => {
    const kind = kindOf(m.suggestion);
    return kind !== undefined && offered.includes(kind);
  };
  const first = methods.find(fits);
  const beside = methods.filter((m) => first?.with?.includes(m.id) && fits(m));
  if (!first || beside.length === 0) return [firstOf(undefined, methods, offered)];
  return [first, ...beside].map((m) => ({ ...firstOf(undefined, [m], offered), scheme: m.id }));
}

/** What is sent of several credentials: a list, or the one, which is sent with every operation unless it was set for one scheme. */
export function bodyOfAll(auths: Auth[], scheme?: string): Auth {
  const [first, ...others] = auths.map(bodyOf);
  return first && others.length === 0 ? { ...first, scheme } : { authType: "list", items: auths.map(bodyOf) as Schemas["AuthItem"][] };
}

interface Props {
  auth: Auth;
  offered: readonly Kind[];
  /** What is set now: a secret that is not entered stays. */
  stored?: Stored;
  missing: (keyof Auth)[];
  error: unknown;
  /** Where it stands in what is sent: /items/1. */
  at?: string;
  onChange: (auth: Auth) => void;
}

/** The fields of a credential. What is secret is only ever written. */
export function CredentialFields({ auth, offered, stored, missing, error, at = "", onChange }: Props) {
  const kind = kindOf(auth) ?? "header";
  const entries = entriesOf(kind);
  const kept = stored !== undefined && kindOf(stored) === kind;
  const secret = String(auth[entries.find((e) => e.secret)?.key ?? "apiKey"] ?? "");
  return (
    <div className="grid max-w-xl gap-3">
      <Select label="Type" value={kind} onChange={(e) => onChange({ ...auth, ...onlyKind(e.target.value as Kind) })}>
        {offered.map((k) => (
          <option key={k} value={k}>
            {kinds[k].title}
          </option>
        ))}
      </Select>
      {entries.map((e) => {
        const shared = {
          label: e.label,
          spellCheck: false,
          hint: e.secret ? (kept ? "Left empty, the stored one stays." : "Stored encrypted, and shown to nobody again.") : e.hint,
          error: missing.includes(e.key) ? "Enter it." : faultAt(error, `${at}/${e.key}`),
          value: String(auth[e.key] ?? ""),
          onChange: (event: { target: { value: string } }) => onChange(e.key === "headerName" ? inHeader(auth, event.target.value) : { ...auth, [e.key]: event.target.value }),
        };
        return e.text ? (
          <TextArea key={e.key} autoComplete="off" {...shared} />
        ) : (
          <TextField key={e.key} type={e.secret ? "password" : "text"} autoComplete={e.secret ? "new-password" : "off"} {...shared} />
        );
      })}
      {kind === "header" && secret ? (
        <p className="break-words text-muted">
          Sent: <code className="font-mono">{`${auth.headerName ?? ""}: ${auth.headerPrefix ?? ""}••••${secret.length >= 12 ? secret.slice(-4) : ""}`}</code>
        </p>
      ) : null}
    </div>
  );
}

/** The same key in another header: "Bearer " belongs to Authorization. */
export function inHeader(auth: Auth, headerName: string): Auth {
  const [before, after] = [auth.headerName, headerName].map((name) => name?.trim().toLowerCase() === "authorization");
  if (before && !after && auth.headerPrefix === BEARER) return { ...auth, headerName, headerPrefix: "" };
  if (!before && after && !auth.headerPrefix) return { ...auth, headerName, headerPrefix: BEARER };
  return { ...auth, headerName };
}

/** A grant is of its kind; another kind has none. */
const onlyKind = (kind: Kind): Pick<Auth, "authType" | "grant"> => ({ grant: undefined, ...ofKind(kind) });

/** What is sent: the fields of the kind, and what belongs to all of OAuth. Fields of other kinds that were entered before are left out. */
export function bodyOf(auth: Auth): Auth {
  const kind = kindOf(auth) ?? "header";
  const oauth = auth.authType === "oauth2" || auth.authType === "oidc" ? (["scopes", "audience", "tokenAuthMethod", "perUser"] as const) : [];
  const keys = [...entriesOf(kind).map((e) => e.key), "scheme" as const, ...oauth];
  return { ...Object.fromEntries(keys.filter((key) => auth[key] !== undefined && auth[key] !== "").map((key) => [key, auth[key]])), ...ofKind(kind) };
}
