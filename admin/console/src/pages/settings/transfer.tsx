import { useMutation, useQuery } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { Button } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { TextField } from "../../components/field";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, unwrap } from "../../lib/api";
import { download } from "../../lib/csv";
import { can } from "../../lib/roles";
import { sessionQuery } from "../../lib/session";
import { Import } from "./import";

/** The workspace as a document, out of the node and into it. */
export function Transfer() {
  const session = useQuery(sessionQuery).data;
  if (!session) return null; // The sign-in form is shown instead.
  const admin = can(session.role, "admin");
  return (
    <>
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Export admin={admin} />
        {can(session.role, "editor") ? (
          <Import admin={admin} />
        ) : (
          <Card title="Import">
            <p className="text-muted">Importing a document needs the role editor.</p>
          </Card>
        )}
      </div>
      <CommandLine command="sluice export" />
    </>
  );
}

function Export({ admin }: { admin: boolean }) {
  const make = useMutation({
    mutationFn: ({ recipient, toolset }: { recipient: string; toolset: string[] }) =>
      unwrap(api.GET("/v1/export", { params: { query: { ...(recipient ? { recipient } : {}), ...(toolset.length > 0 ? { toolset } : {}) } } })),
    onSuccess: (document) => download("sluice-export.json", JSON.stringify(document, null, 2), "application/json"),
  });
  const submit = (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    make.mutate({ recipient: text("recipient"), toolset: text("toolsets").split(/[\s,]+/).filter(Boolean) });
  };
  return (
    <Card title="Export of the workspace">
      <form onSubmit={submit} className="space-y-3">
        <p className="text-muted">Toolsets with their specifications, settings, edits, plugins and access, as one document. Another node, or this one later, takes it with an import.</p>
        <TextField label="Toolsets" name="toolsets" autoComplete="off" spellCheck={false} placeholder="shop billing" hint="Left empty, all of them" />
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
