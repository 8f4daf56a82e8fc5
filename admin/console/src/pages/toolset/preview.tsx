import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../../components/button";
import { Confirm } from "../../components/confirm";
import { CodeBlock } from "../../components/copy";
import { Select } from "../../components/field";
import { FormDialog } from "../../components/formdialog";
import { Card, Fact } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, unwrap, type Schemas } from "../../lib/api";
import { date } from "../../lib/format";
import { Problem } from "../../lib/problem";
import { toolsetQuery } from "../../lib/queries";
import { useCan } from "../../lib/session";

const HOUR = 3600;
const times: [string, number, string][] = [
  ["An hour", HOUR, "1h"],
  ["Eight hours", 8 * HOUR, "8h"],
  ["A day", 24 * HOUR, "24h"],
];

/** The preview of a draft; null: there is none. */
export const previewQuery = (slug: string) =>
  queryOptions({
    queryKey: ["toolset", slug, "preview"],
    queryFn: () =>
      unwrap(api.GET("/v1/toolsets/{id}/preview", { params: { path: { id: slug } } })).catch((error: unknown) => {
        if (error instanceof Problem && error.status === 404) return null;
        throw error;
      }),
  });

/** The draft at an address of its own for a while, to be tried with an application before it is live. */
export function DraftPreview({ slug }: { slug: string }) {
  const editor = useCan("editor");
  const [making, setMaking] = useState(false);
  const [ending, setEnding] = useState<Schemas["DraftPreview"] | null>(null);
  const preview = useQuery(previewQuery(slug));
  const now = preview.data;
  return (
    <Card
      title="Preview of the draft"
      actions={
        editor ? (
          <span className="flex flex-wrap gap-2">
            {now ? <Button onClick={() => setEnding(now)}>End it</Button> : null}
            <Button onClick={() => setMaking(true)}>{now ? "Make another" : "Make a preview"}</Button>
          </span>
        ) : undefined
      }
    >
      {preview.isError ? <ProblemNote error={preview.error} retry={() => void preview.refetch()} /> : null}
      {now ? (
        <dl>
          <Fact name="URL"><code className="font-mono text-[0.9rem] break-all">{now.url}</code></Fact>
          <Fact name="Until">{now.expiresAt ? date(now.expiresAt) : "it is ended"}</Fact>
          <Fact name="It serves">{now.current ? "The draft as it is" : "The draft as it was then: it was changed since"}</Fact>
        </dl>
      ) : preview.isPending ? null : (
        <p className="text-muted">None. A preview serves the draft at an address of its own for a while, to whoever has its token: an application tries it, and what is live stays.</p>
      )}
      <p className="mt-3 text-muted">
        The same in a terminal: <code className="font-mono break-words text-text">sluice toolset preview {slug}</code>
      </p>
      <Make slug={slug} open={making} close={() => setMaking(false)} />
      <Confirm
        title="End the preview"
        of={ending}
        action="End it"
        command={`sluice toolset preview ${slug} --end`}
        run={() => unwrap(api.DELETE("/v1/toolsets/{id}/preview", { params: { path: { id: slug } } }))}
        stale={["toolset", slug, "preview"]}
        close={() => setEnding(null)}
      >
        <p>The next request to its URL is not answered. The draft stays.</p>
      </Confirm>
    </Card>
  );
}

function Make({ slug, open, close }: { slug: string; open: boolean; close: () => void }) {
  const queries = useQueryClient();
  const etag = useQuery(toolsetQuery(slug)).data?.etag ?? "";
  const [ttl, setTtl] = useState(HOUR);
  const make = useMutation({
    mutationFn: () => unwrap(api.POST("/v1/toolsets/{id}/preview", { params: { path: { id: slug }, header: { "If-Match": etag } }, body: { ttlSeconds: ttl } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["toolset", slug, "preview"] }),
  });
  return (
    <FormDialog
      title={make.data ? "The preview is there" : "Make a preview of the draft"}
      open={open}
      close={close}
      does={make}
      action="Make it"
      command={`sluice toolset preview ${slug} --ttl ${times.find(([, seconds]) => seconds === ttl)?.[2]}`}
      submit={() => make.mutate()}
      made={
        make.data ? (
          <>
            <p className="mb-2">For an MCP client, until {make.data.expiresAt ? date(make.data.expiresAt) : "it is ended"}:</p>
            <CodeBlock label="the URL of the preview" text={make.data.url} />
            <p className="mt-3 mb-2">Its access token. Copy it now: it is not stored, and nobody can show it again.</p>
            <CodeBlock label="the token of the preview" text={make.data.token ?? ""} />
          </>
        ) : null
      }
    >
      <Select label="For" value={ttl} onChange={(e) => setTtl(Number(e.target.value))}>
        {times.map(([name, seconds]) => (
          <option key={seconds} value={seconds}>
            {name}
          </option>
        ))}
      </Select>
      <p className="text-muted">It takes the place of a preview that is there. Calls go to the API for real; edges serve no previews.</p>
    </FormDialog>
  );
}
