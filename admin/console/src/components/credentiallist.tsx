import { Button } from "./button";
import { CredentialFields, firstOf, kindOf, missingOf, type Auth, type Kind, type Method } from "./credential";
import { Switch } from "./choices";
import { TextField } from "./field";
import { Card } from "./page";
import type { Schemas } from "../lib/api";
import { plural } from "../lib/format";

type Stored = Schemas["Authentication"] | Schemas["AuthenticationItem"];

/** A credential that is entered, and the stored one that it takes the place of. */
export interface Entered {
  id: number;
  auth: Auth;
  stored?: Stored | undefined;
  /** The only one that is stored. */
  alone: boolean;
}

/** So many credentials are combined at the most. */
const MOST = 16;

export const listed = (auths: Auth[], stored: Stored[] = []): Entered[] => auths.map((auth, id) => ({ id, auth, stored: stored[id], alone: stored.length === 1 }));

const named = (a: Auth | Stored) => [a.headerName, a.parameterName, a.cookieName, a.memberName].map((name) => name ?? "").join("\n");

/** The stored credential whose secret may stay. Of several, one with another name is another one. */
const keptOf = (e: Entered) => (e.stored && (e.alone || named(e.auth) === named(e.stored)) ? e.stored : undefined);

export const missingOfAll = (all: Entered[]) => all.map((e) => missingOf(e.auth, keptOf(e)));

/** What one more credential begins with: a method that none of them is of yet. */
function another(methods: Method[], all: Entered[], offered: readonly Kind[]): Auth {
  const rest = methods.filter((m) => !all.some(({ auth }) => auth.scheme === m.id || (auth.authType === m.suggestion?.authType && m.suggestion && named(auth) === named(m.suggestion as Auth))));
  return firstOf(undefined, rest, offered);
}

interface Props {
  entered: Entered[];
  methods: Method[];
  offered: readonly Kind[];
  /** What the only one is called. */
  title: string;
  missing: (keyof Auth)[][];
  error: unknown;
  onChange: (next: Entered[]) => void;
}

/** The credentials of a connector: one, or those that an API wants together. */
export function CredentialList({ entered, methods, offered, title, missing, error, onChange }: Props) {
  return (
    <>
      {entered.map((e, i) => {
        const name = entered.length === 1 ? title : `Credential ${i + 1} of ${entered.length}${e.auth.scheme ? `: ${e.auth.scheme}` : ""}`;
        const change = (auth: Auth) => onChange(entered.map((other) => (other === e ? { ...e, auth } : other)));
        const kept = keptOf(e);
        return (
          <fieldset key={e.id} className="min-w-0">
            <legend className="sr-only">{name}</legend>
            <Card
              title={name}
              actions={
                entered.length > 1 ? (
                  <Button onClick={() => onChange(entered.filter((other) => other !== e))}>
                    Remove this credential<span className="sr-only">, {i + 1} of {entered.length}</span>
                  </Button>
                ) : null
              }
            >
              <div className="space-y-3">
                <CredentialFields auth={e.auth} offered={offered} {...(kept ? { stored: kept } : {})} missing={missing[i] ?? []} error={error} at={entered.length > 1 ? `/items/${i}` : ""} onChange={change} />
                <OAuthFields auth={e.auth} offered={scopesOf(methods, e.auth)} onChange={change} />
              </div>
            </Card>
          </fieldset>
        );
      })}
      {entered.length < MOST ? (
        <div className="flex flex-wrap items-center gap-3">
          <Button onClick={() => onChange([...entered, { id: Math.max(...entered.map((e) => e.id)) + 1, auth: another(methods, entered, offered), alone: false }])}>Add a credential</Button>
          <p className="text-muted">For an API that needs two keys in each call.</p>
        </div>
      ) : null}
    </>
  );
}

/** The scopes that a specification names for a credential, in order. */
export function scopesOf(methods: Method[], auth: Auth): string[] {
  const own = methods.filter((m) => m.suggestion?.scopes?.length && (auth.scheme === undefined || auth.scheme === m.id));
  return [...new Set(own.flatMap((m) => m.suggestion?.scopes ?? []))].sort();
}

/** What only a credential of OAuth has. */
function OAuthFields({ auth, offered, onChange }: { auth: Auth; offered: string[]; onChange: (auth: Auth) => void }) {
  const kind = kindOf(auth);
  const asked = new Set(auth.scopes);
  const ask = (scopes: string[]) => onChange({ ...auth, scopes: scopes.length > 0 ? scopes : undefined });
  const login = kind === "login" || kind === "oidc";
  return (
    <>
      {login || kind === "oauth2" ? (
        <div className="max-w-xl">
          <TextField
            label="Scopes"
            autoComplete="off"
            spellCheck={false}
            hint="Those to ask for, with blanks between them. Left empty, the server decides."
            value={(auth.scopes ?? []).join(" ")}
            onChange={(e) => onChange({ ...auth, scopes: e.target.value === "" ? undefined : e.target.value.split(" ") })}
          />
          {offered.length > 0 ? (
            <details className="mt-1">
              <summary className="min-h-8 cursor-pointer py-1">{plural(offered.length, "scope")} that the specification names</summary>
              <fieldset className="max-h-64 overflow-y-auto pl-4">
                <legend className="sr-only">Scopes of the specification</legend>
                {offered.map((scope) => (
                  <label key={scope} className="flex min-h-8 items-center gap-2 break-all">
                    <input
                      type="checkbox"
                      className="size-4 shrink-0 accent-(--accent)"
                      checked={asked.has(scope)}
                      onChange={(e) => ask(e.target.checked ? [...asked, scope].filter((s) => s !== "") : [...asked].filter((s) => s !== scope && s !== ""))}
                    />
                    {scope}
                  </label>
                ))}
              </fieldset>
            </details>
          ) : null}
        </div>
      ) : null}
      {login ? (
        <Switch
          label="Each caller logs in with an account of their own"
          note="Their first call is answered with a link. The toolset URL must ask for a token or a login."
          checked={auth.perUser ?? false}
          onChecked={(perUser) => onChange({ ...auth, perUser: perUser || undefined })}
        />
      ) : null}
    </>
  );
}
