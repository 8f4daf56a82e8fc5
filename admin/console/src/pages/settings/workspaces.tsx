import { infiniteQueryOptions, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { CodeBlock } from "../../components/copy";
import { TextField } from "../../components/field";
import { FormDialog, Once } from "../../components/formdialog";
import { More } from "../../components/more";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";

const WORKSPACES = ["workspaces"];

export const workspacesQuery = infiniteQueryOptions({
  queryKey: WORKSPACES,
  queryFn: ({ pageParam }) => unwrap(api.GET("/v1/workspaces", { params: { query: { limit: 50, ...(pageParam ? { cursor: pageParam } : {}) } } })),
  initialPageParam: "",
  getNextPageParam: (page) => page.nextCursor,
});

const columns: Column<Schemas["WorkspaceInfo"]>[] = [{ name: "Workspace", cell: (w) => <code className="font-mono break-all">{w.id}</code> }];

/** The workspaces of the control plane: each has its own toolsets, members and credentials. */
export function Workspaces() {
  const workspaces = useInfiniteQuery(workspacesQuery);
  const [making, setMaking] = useState(false);
  if (workspaces.isError) return <ProblemNote error={workspaces.error} retry={() => void workspaces.refetch()} />;
  if (workspaces.isPending) return <Skeleton rows={1} />;
  return (
    <Card title="Workspaces" flush actions={<Button onClick={() => setMaking(true)}>Make a workspace</Button>}>
      <p className="border-b border-line px-4 py-2.5 text-muted">
        Each has its own toolsets, members and credentials, and sees nothing of the others. Who is signed in is in one of them; another one is opened with a login link of its own.
      </p>
      <Table label="Workspaces" columns={columns} rows={workspaces.data.pages.flatMap((p) => p.items)} id={(w) => w.id} />
      <More list={workspaces} />
      <Make open={making} close={() => setMaking(false)} />
    </Card>
  );
}

function Make({ open, close }: { open: boolean; close: () => void }) {
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: (body: Schemas["CreateWorkspace"]) => unwrap(api.POST("/v1/workspaces", { body })),
    onSettled: () => queries.invalidateQueries({ queryKey: WORKSPACES }),
  });
  return (
    <FormDialog
      title={make.data ? `The workspace ${make.data.id}` : "Make a workspace"}
      open={open}
      close={close}
      does={make}
      action="Make it"
      submit={(text) => make.mutate({ id: text("id"), ...(text("name") ? { name: text("name") } : {}) })}
      made={
        make.data ? (
          <>
            <p className="mb-2">The API token of its first administrator.</p>
            <Once label="the API token of the administrator" text={make.data.administrator.token ?? ""} />
            <p className="mt-3 mb-2">In a file, it makes the link that signs a browser in to the workspace:</p>
            <CodeBlock label="the command that makes a login link" text={`sluice session link --server ${location.origin} --token-file FILE`} />
          </>
        ) : null
      }
    >
      <TextField label="Identifier" name="id" required autoComplete="off" spellCheck={false} maxLength={63} pattern="[a-z0-9]([a-z0-9\-]*[a-z0-9])?" hint="Lower-case letters, digits and -; it never changes, and begins the names of its repositories" />
      <TextField label="Name" name="name" autoComplete="off" maxLength={100} hint="For people; may be empty" />
      <p className="text-muted">A workspace is not removed again.</p>
    </FormDialog>
  );
}
