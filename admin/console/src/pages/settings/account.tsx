import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { TextField } from "../../components/field";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, unwrap } from "../../lib/api";
import { openSession, sessionQuery, type Session } from "../../lib/session";

const password = { type: "password", minLength: 12, maxLength: 200, required: true, autoComplete: "new-password", hint: "At least 12 characters" };

/** The text of a field as it was typed. */
const read = (form: FormData, name: string) => String(form.get(name) ?? "");

/** The local administrator is a token and no person: this makes a member with a password, and signs it in. */
export function MakeAccount() {
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: async (form: FormData) => {
      const email = read(form, "email").trim();
      const known = await unwrap(api.GET("/v1/members", { params: { query: { limit: 200 } } }));
      // A try before this one may have made the member already.
      const member =
        known.items.find((m) => m.email === email) ??
        (await unwrap(api.POST("/v1/members", { body: { email, name: read(form, "name").trim(), role: "admin" } })));
      const link = await unwrap(api.POST("/v1/members/{id}/login-link", { params: { path: { id: member.id } } }));
      await openSession({ link: link.url.split("#login=")[1] });
      await unwrap(api.PUT("/v1/session/password", { body: { password: read(form, "password") } }));
    },
    onSettled: () => queries.invalidateQueries(),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    make.mutate(new FormData(event.currentTarget));
  };
  return (
    <Card title="Make your account">
      <form onSubmit={submit} className="space-y-4">
        <p className="text-muted">You are signed in with a login link. With an account you sign in with a password, and the audit log names you.</p>
        <TextField label="Name" name="name" autoComplete="name" required maxLength={100} />
        <TextField label="E-mail" name="email" type="email" autoComplete="username" required />
        <TextField label="Password" name="password" {...password} />
        {make.isError ? <ProblemNote error={make.error} /> : null}
        <Button kind="primary" type="submit" busy={make.isPending}>
          Make the account
        </Button>
      </form>
    </Card>
  );
}

export function SetPassword({ session }: { session: Session }) {
  const queries = useQueryClient();
  const [done, setDone] = useState(false);
  const set = useMutation({
    mutationFn: (body: { password: string; current?: string }) => unwrap(api.PUT("/v1/session/password", { body })),
    onSuccess: () => setDone(true),
    onSettled: () => queries.invalidateQueries({ queryKey: sessionQuery.queryKey }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const element = event.currentTarget;
    const form = new FormData(element);
    const current = read(form, "current");
    setDone(false);
    set.mutate({ password: read(form, "password"), ...(current ? { current } : {}) }, { onSuccess: () => element.reset() });
  };
  if (session.password === "none") return null;
  return (
    <Card title="Password">
      <form onSubmit={submit} className="space-y-4">
        <input type="hidden" name="username" autoComplete="username" value={session.member?.email ?? ""} readOnly />
        {session.password === "set" ? (
          <TextField label="Current password" name="current" type="password" autoComplete="current-password" required />
        ) : null}
        <TextField label="New password" name="password" {...password} />
        {set.isError ? <ProblemNote error={set.error} /> : null}
        <div className="flex flex-wrap items-center gap-3">
          <Button kind="primary" type="submit" busy={set.isPending}>
            Set the password
          </Button>
          <span role="status" className="text-ok">
            {done ? "Set. Your other sessions have ended." : ""}
          </span>
        </div>
      </form>
    </Card>
  );
}
