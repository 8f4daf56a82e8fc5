import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { buttonClass } from "../../components/button";
import { Page } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { toolsetQuery } from "../../lib/queries";
import { ofEditors } from "./editors";

const review = "/toolsets/new/$slug/review";
const authentication = "/toolsets/new/$slug/authentication";
const names = "/toolsets/new/$slug/names";
const test = "/toolsets/new/$slug/test";
const live = "/toolsets/new/$slug/live";

interface Step {
  to: typeof review | typeof authentication | typeof names | typeof test | typeof live | "/toolsets/new" | "/toolsets/new/mcp" | "/toolsets/new/mcp-authentication";
  name: string;
}

const ofSpecification: Step[] = [
  { to: "/toolsets/new", name: "Source" },
  { to: review, name: "Review" },
  { to: authentication, name: "Authentication" },
  { to: names, name: "Names and optimizations" },
  { to: test, name: "Test" },
  { to: live, name: "Live" },
];

/** A server says what it has only once it knows who asks. */
const ofServer = (slug: string): Step[] => [
  { to: "/toolsets/new/mcp", name: "Server" },
  { to: slug ? authentication : "/toolsets/new/mcp-authentication", name: "Authentication" },
  { to: review, name: "Tools" },
  { to: test, name: "Test" },
  { to: live, name: "Live" },
];

function StepList({ steps, slug, open }: { steps: Step[]; slug: string; open: number }) {
  return (
    <nav aria-label="Steps" className="mb-5 border-b border-line">
      <ol className="flex flex-wrap gap-x-5">
        {steps.map((step, i) => (
          <li key={step.to} className="flex min-h-8 items-center">
            {slug || i < open ? (
              <Link
                to={step.to}
                params={{ slug }}
                search={{}}
                activeOptions={{ exact: true, includeSearch: false }}
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

/** The list of steps: those of a draft are links, because each can be opened again. */
export const Steps = ({ slug }: { slug: string }) => <StepList steps={ofSpecification} slug={slug} open={1} />;

/** The same, of a toolset that is made from an MCP server. */
export const ServerSteps = ({ slug }: { slug: string }) => <StepList steps={ofServer(slug)} slug={slug} open={2} />;

/** The steps of a toolset that is there as a draft. */
export const DraftLayout = ofEditors(DraftLayoutStep);

function DraftLayoutStep() {
  const { slug } = useParams({ from: "/toolsets/new/$slug" });
  const toolset = useQuery(toolsetQuery(slug));
  return (
    <Page title={toolset.data ? `Create ${toolset.data.data.name}` : "Create a toolset"}>
      {toolset.data?.data.source.kind === "mcp" ? <ServerSteps slug={slug} /> : <Steps slug={slug} />}
      {toolset.isError ? <ProblemNote error={toolset.error} retry={() => void toolset.refetch()} /> : null}
      {toolset.isPending ? <Skeleton /> : null}
      {toolset.data ? <Outlet /> : null}
    </Page>
  );
}

/** What a step ends with: back, and on. */
export function Next({ back, slug, children }: { back: Step["to"]; slug: string; children: ReactNode }) {
  return (
    <div className="mt-5 flex flex-wrap justify-between gap-3">
      <Link to={back} params={{ slug }} search={{}} className={buttonClass()}>
        Back
      </Link>
      <div className="flex flex-wrap gap-2">{children}</div>
    </div>
  );
}
