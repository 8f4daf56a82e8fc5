import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { FormEvent } from "react";
import { Button } from "../../components/button";
import { CodeBlock, CommandLine } from "../../components/copy";
import { TextField } from "../../components/field";
import { Card, Fact } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, unwrap } from "../../lib/api";
import { download } from "../../lib/csv";
import { can } from "../../lib/roles";
import { sessionQuery } from "../../lib/session";

/** What the node is, and how the workspace and the node are kept elsewhere. */
export function About() {
  const session = useQuery(sessionQuery).data;
  if (!session) return null; // The sign-in form is shown instead.
  return (
    <>
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Export admin={can(session.role, "admin")} />
        <div className="min-w-0 space-y-5">
          <Card title="Backup of the node">
            <p className="mb-3 text-muted">
              Records, contents and keys of one moment, encrypted with age. It is made on the machine of the control plane: who opens it has every key, so it does not pass through a
              browser.
            </p>
            <CodeBlock label="the command that makes a backup" text="sluice backup sluice.backup --recipient age1…" />
          </Card>
          <Card title="About">
            <dl>
              <Fact name="Version of the node">{session.version}</Fact>
              <Fact name="Workspace">{session.workspace.name}</Fact>
              <Fact name="Licences">
                <a className="text-accent underline" href="/licences.txt">
                  Of the parts of the console
                </a>
              </Fact>
              <Fact name="Admin API">
                <Link to="/reference" className="text-accent underline">
                  Its reference
                </Link>
              </Fact>
            </dl>
          </Card>
        </div>
      </div>
      <CommandLine command="sluice export" />
    </>
  );
}

function Export({ admin }: { admin: boolean }) {
  const make = useMutation({
    mutationFn: (recipient: string) => unwrap(api.GET("/v1/export", { params: { query: recipient ? { recipient } : {} } })),
    onSuccess: (document) => download("sluice-export.json", JSON.stringify(document, null, 2), "application/json"),
  });
  const submit = (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    make.mutate(String(new FormData(e.currentTarget).get("recipient") ?? "").trim());
  };
  return (
    <Card title="Export of the workspace">
      <form onSubmit={submit} className="space-y-3">
        <p className="text-muted">Toolsets with their specifications, settings, edits, plugins and access, as one document. Another node takes it with sluice import.</p>
        {admin ? (
          <TextField label="Seal the secrets for" name="recipient" autoComplete="off" spellCheck={false} placeholder="age1…" hint="An age public key. Left empty, the document has no secrets." />
        ) : null}
        <Button type="submit" busy={make.isPending}>
          Save the export
        </Button>
        <p role="status" className={make.isSuccess ? "text-muted" : "sr-only"}>
          {make.isSuccess ? "Saved as sluice-export.json." : ""}
        </p>
        {make.isError ? <ProblemNote error={make.error} /> : null}
      </form>
    </Card>
  );
}
