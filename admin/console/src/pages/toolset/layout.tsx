import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useParams } from "@tanstack/react-router";
import { Page } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { ToolsetStatus } from "../../components/status";
import { plural } from "../../lib/format";
import { toolsetQuery } from "../../lib/queries";

const tabs = [
  { to: "/toolsets/$slug", name: "Overview", exact: true },
  { to: "/toolsets/$slug/tools", name: "Tools", exact: false },
  { to: "/toolsets/$slug/revisions", name: "Revisions", exact: false },
] as const;

/** What the pages of a toolset have in common: its name, its status and the links between them. */
export function ToolsetLayout() {
  const { slug } = useParams({ from: "/toolsets/$slug" });
  const toolset = useQuery(toolsetQuery(slug));
  if (toolset.isError) {
    return (
      <Page title={slug}>
        <ProblemNote error={toolset.error} retry={() => void toolset.refetch()} />
      </Page>
    );
  }
  if (toolset.isPending) {
    return (
      <Page title={slug}>
        <Skeleton />
      </Page>
    );
  }
  const t = toolset.data.data;
  return (
    <Page
      key={t.id}
      title={t.name}
      lead={
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <ToolsetStatus toolset={t} />
          {plural(t.enabledTools, "tool")}
          {t.revision > 0 ? <span>Revision {t.revision}</span> : null}
          {t.description ? <span>{t.description}</span> : null}
        </span>
      }
    >
      <nav aria-label={`Pages of ${t.name}`} className="mb-5 overflow-x-auto border-b border-line">
        <ul className="flex gap-5">
          {tabs.map((tab) => (
            <li key={tab.name}>
              <Link
                to={tab.to}
                params={{ slug }}
                activeOptions={{ exact: tab.exact }}
                className="block pt-2"
                activeProps={{ className: "border-b-2 border-accent pb-1.5 font-medium" }}
                inactiveProps={{ className: "pb-2 text-muted hover:text-text" }}
              >
                {tab.name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <Outlet />
    </Page>
  );
}
