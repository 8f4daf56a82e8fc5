import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { buttonClass } from "../../components/button";
import { Page } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { toolsetQuery } from "../../lib/queries";

const steps = [
  { to: "/toolsets/new", name: "Source" },
  { to: "/toolsets/new/$slug/review", name: "Review" },
  { to: "/toolsets/new/$slug/authentication", name: "Authentication" },
  { to: "/toolsets/new/$slug/test", name: "Test" },
  { to: "/toolsets/new/$slug/live", name: "Live" },
] as const;

/** The list of steps: those of a draft are links, because each can be opened again. */
export function Steps({ slug }: { slug: string }) {
  return (
    <nav aria-label="Steps" className="mb-5 border-b border-line">
      <ol className="flex flex-wrap gap-x-5">
        {steps.map((step, i) => (
          <li key={step.to} className="flex min-h-8 items-center">
            {slug || i === 0 ? (
              <Link
                to={step.to}
                params={{ slug }}
                activeOptions={{ exact: true }}
                className="flex min-h-8 items-center border-b-2 border-transparent text-muted hover:text-text forced-colors:border-[Canvas]"
                activeProps={{ className: "!border-accent font-medium forced-colors:!border-[Highlight] !text-text", "aria-current": "step" }}
              >
                {i + 1}. {step.name}
              </Link>
            ) : (
              <span className="text-muted">
                {i + 1}. {step.name}
              </span>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** The steps of a toolset that is there as a draft. */
export function DraftLayout() {
  const { slug } = useParams({ from: "/toolsets/new/$slug" });
  const toolset = useQuery(toolsetQuery(slug));
  return (
    <Page title={toolset.data ? `Create ${toolset.data.data.name}` : "Create a toolset"}>
      <Steps slug={slug} />
      {toolset.isError ? <ProblemNote error={toolset.error} retry={() => void toolset.refetch()} /> : null}
      {toolset.isPending ? <Skeleton /> : null}
      {toolset.data ? <Outlet /> : null}
    </Page>
  );
}

/** What a step ends with: back, and on. */
export function Next({ back, slug, children }: { back: (typeof steps)[number]["to"]; slug: string; children: ReactNode }) {
  return (
    <div className="mt-5 flex flex-wrap justify-between gap-3">
      <Link to={back} params={{ slug }} className={buttonClass()}>
        Back
      </Link>
      <div className="flex flex-wrap gap-2">{children}</div>
    </div>
  );
}
