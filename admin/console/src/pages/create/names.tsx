import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../../components/button";
import { Choices } from "../../components/choices";
import { CommandLine } from "../../components/copy";
import { Card, Fact } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { api, unwrap, type Schemas } from "../../lib/api";
import { plural } from "../../lib/format";
import { selectionQuery, toolsetQuery } from "../../lib/queries";
import { profiles } from "../toolset/profiles";
import { ToolSuggestions } from "../toolset/suggestions";
import { Next } from "./steps";

/** How the tools are called, and how their answers are shortened. */
export function Names() {
  const { slug } = useParams({ from: "/toolsets/new/$slug" });
  const toolset = useQuery(toolsetQuery(slug));
  if (!toolset.data) return null; // The layout says why.
  return <Form key={slug} toolset={toolset.data.data} />;
}

function Form({ toolset: t }: { toolset: Schemas["ToolsetDetail"] }) {
  const [profile, setProfile] = useState(t.profile);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const advice = useQuery(selectionQuery(t.slug)).data?.advice;
  const listed = t.selection === "search" ? advice?.search : t.selection === "code" ? advice?.code : t.selection === "use-case" ? advice?.useCase : advice?.all;
  const save = useMutation({
    mutationFn: async () => {
      if (profile === t.profile) return;
      const { etag } = await queries.fetchQuery({ ...toolsetQuery(t.slug), staleTime: 0 });
      await unwrap(
        api.PATCH("/v1/toolsets/{id}", {
          params: { path: { id: t.slug }, header: { "If-Match": etag } },
          body: { profile },
          headers: { "Content-Type": "application/merge-patch+json" },
        }),
      );
      await queries.invalidateQueries({ queryKey: ["toolset", t.slug] });
    },
    onSuccess: () => navigate({ to: "/toolsets/new/$slug/test", params: { slug: t.slug } }),
  });
  return (
    <div className="space-y-5">
      <ToolSuggestions slug={t.slug} asked />
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <Card title="Answers">
          <Choices label="How answers are shortened" value={profile} onValue={setProfile} choices={profiles} />
          <p className="mt-2 text-muted">The test that follows shows what it saves.</p>
        </Card>
        <Card title="What agents list">
          <dl>
            <Fact name="Tools">{listed ? plural(listed.tools, "tool") : "–"}</Fact>
            <Fact name="Their definitions">{listed ? `about ${plural(listed.tokens, "token")}` : "–"}</Fact>
            {advice && t.selection !== "all" ? <Fact name="All tools would be">{`about ${plural(advice.all.tokens, "token")}`}</Fact> : null}
          </dl>
        </Card>
      </div>
      {save.isError ? <ProblemNote error={save.error} /> : null}
      <Next back="/toolsets/new/$slug/authentication" slug={t.slug}>
        <Button kind="primary" busy={save.isPending} onClick={() => save.mutate()}>
          Continue
        </Button>
      </Next>
      <CommandLine command={`sluice toolset optimize ${t.slug}${profile === t.profile ? "" : ` --profile ${profile}`}`} />
    </div>
  );
}
