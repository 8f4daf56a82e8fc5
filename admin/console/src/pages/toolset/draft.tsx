import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { Button, buttonClass } from "../../components/button";
import { ProblemNote } from "../../components/problem";
import { api, type Schemas } from "../../lib/api";
import { finish } from "../../lib/jobs";
import { rolloutsQuery } from "../../lib/queries";
import { useCan } from "../../lib/session";

/** That a draft is not live, and the way there: a test that passes deploys it. */
export function DraftNote({ toolset: t }: { toolset: Schemas["ToolsetDetail"] }) {
  const queries = useQueryClient();
  const note = useRef<HTMLElement>(null);
  const [phase, setPhase] = useState("");
  const test = useMutation({
    mutationFn: () => finish<Schemas["TestAnswer"]>(api.POST("/v1/toolsets/{id}/test", { params: { path: { id: t.slug } }, body: {} }), setPhase),
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: ["toolset", t.slug] });
      note.current?.focus({ preventScroll: true }); // The button may be gone.
    },
  });
  const editor = useCan("editor");
  const differs = t.status === "draft" || t.changed;
  const running = useQuery({ ...rolloutsQuery(t.slug), enabled: differs && t.status === "live" }).data?.rollouts.find((r) => r.state === "running");
  if (!differs && !test.data) return null;
  const outcome = test.isPending
    ? phase || "Calling the API"
    : !test.data
      ? ""
      : !test.data.passed
        ? `Not deployed: ${test.data.reason ?? "the test did not pass"}`
        : differs
          ? ""
          : `The test of ${test.data.tool ?? "the draft"} passed, and the draft is live.`;
  return (
    <section ref={note} tabIndex={-1} aria-label="The draft" className="mb-5 rounded-lg border border-line bg-surface p-3">
      {differs ? (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <p className="min-w-0 flex-1 basis-60">
            {running
              ? `The draft is being rolled out ${running.mode === "shadow" ? "in the shadow" : `to ${running.percent ?? 0} % of the callers`}. Promote it or abort it before the draft is tested and deployed.`
              : t.status === "live"
                ? "The draft differs from what is live. A test that passes deploys it."
                : "Nothing is live yet. A test that passes deploys the draft."}
          </p>
          {running ? (
            <Link to="/toolsets/$slug/revisions" params={{ slug: t.slug }} className={buttonClass()}>
              Show the roll-out
            </Link>
          ) : editor ? (
            <>
              <Link to="/playground" search={{ toolset: t.slug }} className={buttonClass()}>
                Choose a tool to test
              </Link>
              <Button kind="primary" busy={test.isPending} onClick={() => test.mutate()}>
                Test and deploy
              </Button>
            </>
          ) : null}
        </div>
      ) : null}
      <p role="status" className={outcome ? "break-words" : "sr-only"}>
        {outcome}
      </p>
      {test.isError ? (
        <div className="mt-2">
          <ProblemNote error={test.error} />
        </div>
      ) : null}
    </section>
  );
}
