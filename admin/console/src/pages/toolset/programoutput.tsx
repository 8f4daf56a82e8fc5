import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { CodeBlock } from "../../components/copy";
import { ProblemNote } from "../../components/problem";
import { api, unwrap } from "../../lib/api";
import { count, second } from "../../lib/format";
import { every } from "../../lib/live";
import { useCan } from "../../lib/session";

/** What a program of the node wrote, and when its processes began and ended. */
export function ProgramOutput({ slug, connector, only }: { slug: string; connector: string; only: boolean }) {
  const admin = useCan("admin");
  const [shown, setShown] = useState(false);
  const output = useQuery({
    queryKey: ["toolset", slug, "output", connector],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/connectors/{connector}/output", { params: { path: { id: slug, connector } } })),
    enabled: admin && shown,
    refetchInterval: every(5_000),
  });
  const lines = output.data?.lines ?? [];
  return (
    <div className="mt-3 space-y-2">
      <p className="text-muted">
        It runs as the user of the node, so it is added on the machine only: <code className="font-mono break-words text-text">sluice add -- npx -y PACKAGE</code>. A process that ended is started again by itself
        at the next call.
      </p>
      {admin ? (
        <Button onClick={() => setShown(!shown)} aria-expanded={shown}>
          {shown ? "Hide what it wrote" : "Show what it wrote"}
        </Button>
      ) : (
        <p className="text-muted">Administrators see what it wrote.</p>
      )}
      {output.isError ? <ProblemNote error={output.error} retry={() => void output.refetch()} /> : null}
      {shown && output.data ? (
        <>
          {output.data.dropped > 0 ? <p className="text-muted">{count(output.data.dropped)} older lines are gone.</p> : null}
          {lines.length > 0 ? <CodeBlock low label={`what ${connector} wrote`} text={lines.map((l) => `${second(l.at)}  ${l.text}`).join("\n")} /> : <p className="text-muted">Nothing yet: its first call starts it.</p>}
        </>
      ) : null}
      <p className="text-muted">
        The same in a terminal:{" "}
        <code className="font-mono break-words text-text">
          sluice logs {slug} --stderr{only ? "" : ` --connector ${connector}`}
        </code>
      </p>
    </div>
  );
}
