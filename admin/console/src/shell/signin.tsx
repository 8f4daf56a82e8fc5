import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, type FormEvent, type ReactNode } from "react";
import { Button, buttonClass } from "../components/button";
import { Dialog } from "../components/dialog";
import { TextField } from "../components/field";
import { Page } from "../components/page";
import { ProblemNote } from "../components/problem";
import { api } from "../lib/api";
import { signWithPasskey, usable, useSignInWays } from "../lib/passkey";
import { openSession, sessionQuery, type Session } from "../lib/session";

function useSignIn(done?: () => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: openSession,
    onSuccess: (session) => {
      queries.setQueryData(sessionQuery.queryKey, session);
      done?.();
    },
  });
}

function Frame({ children }: { children: ReactNode }) {
  return (
    <main className="mx-auto flex min-h-dvh max-w-sm flex-col justify-center gap-4 px-4 py-8">
      <p className="flex items-center gap-2 text-[1.3rem] font-semibold tracking-tight">
        <img src="/icon.svg" alt="" width="28" height="28" />
        Sluice
      </p>
      <div className="rounded-lg border border-line bg-surface p-6 shadow-card">{children}</div>
    </main>
  );
}

export function SignIn() {
  return (
    <Frame>
      <Page title="Sign in">
        <ProviderLink back={location.pathname + location.search} />
        <PasswordForm />
        <PasskeyButton />
        <div className="mt-5 border-t border-line pt-4 text-muted">
          <p>No password yet? Ask an administrator for a login link, or make one on the node:</p>
          <code className="mt-1 block font-mono text-[0.9rem] text-text">sluice session link</code>
        </div>
      </Page>
    </Frame>
  );
}

/** The OpenID provider at which members sign in; nothing where there is none. */
const useProvider = () => useSignInWays()?.openIdConnect;

/** Signs in with a passkey, where the browser and the address of the console have them. */
function PasskeyButton({ done }: { done?: () => void }) {
  const ways = useSignInWays();
  const queries = useQueryClient();
  const signIn = useMutation({
    mutationFn: async () => openSession({ passkey: await signWithPasskey() }),
    onSuccess: (session) => {
      queries.setQueryData(sessionQuery.queryKey, session);
      done?.();
    },
  });
  if (!usable(ways?.passkeyHost)) return null;
  return (
    <div className="mt-4 space-y-4 border-t border-line pt-4">
      {signIn.isError ? <ProblemNote error={signIn.error} /> : null}
      <Button className="w-full" busy={signIn.isPending} onClick={() => signIn.mutate()}>
        Sign in with a passkey
      </Button>
    </div>
  );
}

/** The way to the OpenID provider, which leads back to a page of the console. */
function ProviderLink({ back }: { back: string }) {
  const provider = useProvider();
  if (!provider) return null;
  return (
    <p className="mb-5 border-b border-line pb-5">
      <a href={`${provider.url}?back=${encodeURIComponent(back)}`} className={`${buttonClass("primary")} w-full`}>
        Sign in with {provider.name}
      </a>
    </p>
  );
}

/** The same beside a page whose session ended: another window signs in, and the page goes on. */
function ProviderWindow({ done }: { done: () => void }) {
  const provider = useProvider();
  const queries = useQueryClient();
  useEffect(() => {
    const look = async () => {
      const { data } = await api.GET("/v1/session");
      if (!data) return;
      queries.setQueryData(sessionQuery.queryKey, data);
      done();
    };
    const focused = () => void look().catch(() => undefined); // A lost connection: the next look may have one.
    addEventListener("focus", focused);
    return () => removeEventListener("focus", focused);
  }, [queries, done]);
  if (!provider) return null;
  return (
    <p className="mb-4">
      <a href={`${provider.url}?back=%2Fclose`} target="_blank" rel="noreferrer" className={`${buttonClass()} w-full`}>
        Sign in with {provider.name}
        <span className="sr-only"> (opens a new window)</span>
      </a>
    </p>
  );
}

/** Signs in with the login link that was opened. */
export function LinkSignIn({ link, done }: { link: string; done: () => void }) {
  const signIn = useSignIn(done);
  const inside = Boolean(useQuery({ ...sessionQuery, enabled: signIn.isError }).data);
  const { mutate } = signIn;
  const sent = useRef(false);
  useEffect(() => {
    if (sent.current) return; // A link works once.
    sent.current = true;
    mutate({ link });
  }, [link, mutate]);

  if (!signIn.isError) return <p role="status" className="p-6 text-muted">Signing in…</p>;
  return (
    <Frame>
      <Page title="This login link does not work">
        <div className="space-y-4">
          <ProblemNote error={signIn.error} />
          <p className="text-muted">A login link works once and for ten minutes.{inside ? " You are signed in already." : ""}</p>
          <Button onClick={done}>{inside ? "Go to Home" : "Sign in with a password"}</Button>
        </div>
      </Page>
    </Frame>
  );
}

/** The form over a page whose session ended: what was typed there stays. */
export function SignInAgain({ open, session, close, done }: { open: boolean; session: Session; close: () => void; done: () => void }) {
  return (
    <Dialog title="Your session has ended" open={open} onClose={close}>
      <p className="mb-4 text-muted">Sign in again; what is on the page stays.</p>
      {open ? <ProviderWindow done={done} /> : null}
      {session.member ? (
        <>
          <PasswordForm email={session.member.email} workspace={session.workspace.id} done={done} />
          {open ? <PasskeyButton done={done} /> : null}
        </>
      ) : (
        <p>
          Make a login link with <code className="font-mono">sluice session link</code> and open it in this browser.
        </p>
      )}
    </Dialog>
  );
}

function PasswordForm({ email = "", workspace = "", done }: { email?: string; workspace?: string; done?: () => void }) {
  const signIn = useSignIn(done);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const read = (name: string) => String(form.get(name) ?? "").trim();
    const where = read("workspace");
    signIn.mutate({ email: read("email"), password: String(form.get("password") ?? ""), ...(where ? { workspace: where } : {}) });
  };
  return (
    <form onSubmit={submit} className="space-y-4">
      {signIn.isError ? <ProblemNote error={signIn.error} /> : null}
      <TextField label="E-mail" name="email" type="email" autoComplete="username" required defaultValue={email} />
      <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
      <details open={workspace !== "" && workspace !== "default"}>
        <summary className="text-muted">Another workspace</summary>
        <div className="mt-2">
          <TextField label="Workspace" name="workspace" defaultValue={workspace} hint="Empty: default" />
        </div>
      </details>
      <Button kind="primary" type="submit" className="w-full" busy={signIn.isPending}>
        Sign in
      </Button>
    </form>
  );
}
