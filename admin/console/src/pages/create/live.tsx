import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { Button, buttonClass } from "../../components/button";
import { CodeBlock, CommandLine } from "../../components/copy";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, unwrap, type Schemas } from "../../lib/api";
import { toolsetQuery } from "../../lib/queries";
import { Address } from "../toolset/overview";
import { dropDraft, readDraft } from "./draft";
import { dropServer } from "./serverdraft";
import { Next } from "./steps";

const drop = () => {
  dropDraft();
  dropServer();
};

/** The last step: the URL, what opens it, and how applications are told. */
export function Live() {
  const { slug } = useParams({ from: "/toolsets/new/$slug" });
  const toolset = useQuery(toolsetQuery(slug));
  if (!toolset.data) return null; // The layout says why.
  const t = toolset.data.data;
  const live = t.status === "live";
  return (
    <div className="space-y-5">
      <p role="status">{live ? "The toolset is live." : "The toolset is a draft: nothing answers at its URL yet."}</p>
      <Address toolset={t} />
      {live && t.access.mode === "token" ? <AccessToken slug={slug} /> : null}
      <Next back="/toolsets/new/$slug/test" slug={slug}>
        <Link to="/toolsets/new" onClick={drop} className={buttonClass()}>
          Create another
        </Link>
        <Link to="/toolsets/$slug" params={{ slug }} onClick={drop} className={buttonClass("primary")}>
          Open the toolset
        </Link>
      </Next>
      <CommandLine command={`sluice client ${slug}`} />
    </div>
  );
}

function AccessToken({ slug }: { slug: string }) {
  const draft = readDraft();
  const [token, setToken] = useState(draft.slug === slug ? draft.token : "");
  const make = useMutation({
    mutationFn: () => unwrap(api.POST("/v1/toolsets/{id}/access-tokens", { params: { path: { id: slug } }, body: { name: "made in the console" } })),
    onSuccess: (made: Schemas["CreatedAccessToken"]) => setToken(made.token),
  });
  return (
    <Card title="Access token">
      {token ? (
        <>
          <p className="mb-2">Applications send it. Copy it now: it is stored nowhere, and not shown again.</p>
          <CodeBlock label="the access token" text={token} />
        </>
      ) : (
        <>
          <p className="mb-3">The URL opens with an access token.</p>
          <Button kind="primary" busy={make.isPending} onClick={() => make.mutate()}>
            Make a token
          </Button>
        </>
      )}
      {make.isError ? (
        <div className="mt-3">
          <ProblemNote error={make.error} />
        </div>
      ) : null}
    </Card>
  );
}
