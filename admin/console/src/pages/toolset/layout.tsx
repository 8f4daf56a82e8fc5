import { useQuery } from "@tanstack/react-query";
import { Outlet, useParams } from "@tanstack/react-router";
import { Page } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Skeleton } from "../../components/skeleton";
import { ToolsetStatus } from "../../components/status";
import { Tabs, type Tab } from "../../components/tabs";
import { plural } from "../../lib/format";
import { toolsetQuery } from "../../lib/queries";
import { useCan } from "../../lib/session";
import { DraftNote } from "./draft";
import { PauseButtons, PauseNote } from "./pause";

const tabs = [
  { to: "/toolsets/$slug", name: "Overview", exact: true },
  { to: "/toolsets/$slug/tools", name: "Tools" },
  { to: "/toolsets/$slug/connectors", name: "Connectors" },
  { to: "/toolsets/$slug/optimizations", name: "Optimizations" },
  { to: "/toolsets/$slug/authentication", name: "Authentication" },
  { to: "/toolsets/$slug/access", name: "Access" },
  { to: "/toolsets/$slug/domains", name: "Domains" },
  { to: "/toolsets/$slug/workflows", name: "Workflows" },
  { to: "/toolsets/$slug/plugins", name: "Plugins" },
  { to: "/toolsets/$slug/revisions", name: "Revisions" },
  { to: "/toolsets/$slug/settings", name: "Settings" },
] as const satisfies readonly Tab[];

/** What the pages of a toolset have in common: its name, its status and the links between them. */
export function ToolsetLayout() {
  const { slug } = useParams({ from: "/toolsets/$slug" });
  const toolset = useQuery(toolsetQuery(slug));
  const editor = useCan("editor");
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
      actions={editor ? <PauseButtons toolsets={[t]} /> : null}
      lead={
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <ToolsetStatus toolset={t} />
          {plural(t.enabledTools, "tool")}
          {t.revision > 0 ? <span>Revision {t.revision}</span> : null}
          {t.description ? <span>{t.description}</span> : null}
        </span>
      }
    >
      <Tabs label={`Pages of ${t.name}`} tabs={tabs} params={{ slug }} />
      <PauseNote toolset={t} />
      <DraftNote toolset={t} />
      <Outlet />
    </Page>
  );
}
