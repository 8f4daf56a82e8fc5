import { useInfiniteQuery } from "@tanstack/react-query";
import { Outlet, useNavigate, useSearch } from "@tanstack/react-router";
import { Select } from "../../components/field";
import { Page } from "../../components/page";
import { Tabs } from "../../components/tabs";
import { toolsetsQuery } from "../../lib/queries";
import { ranges, type Range, type Search } from "./search";

const tabs = [
  { to: "/analytics", name: "Usage", exact: true, keepSearch: true },
  { to: "/analytics/errors", name: "Errors", keepSearch: true },
  { to: "/analytics/calls", name: "Call log", keepSearch: true },
] as const;

/** What the address says, and how to change it. */
export function useAnalytics() {
  const search = useSearch({ from: "/analytics" });
  const navigate = useNavigate();
  const change = (part: Search) => {
    const next = Object.fromEntries(Object.entries({ ...search, ...part }).filter(([, value]) => value !== undefined && value !== "")) as Search;
    void navigate({ to: ".", search: next, replace: true });
  };
  return { search, range: search.range ?? "24h", toolset: search.toolset ?? "", change };
}

/** What the pages of analytics have in common: the range and the toolset. */
export function Analytics() {
  const { range, toolset, change } = useAnalytics();
  const toolsets = useInfiniteQuery(toolsetsQuery);
  const items = toolsets.data?.pages.flatMap((p) => p.items) ?? [];
  return (
    <Page
      title="Analytics"
      lead="What was called, how fast it was, why calls failed, and what answers cost."
      actions={
        <>
          <Select label="Toolset" hidden value={toolset} onChange={(e) => change({ toolset: e.target.value })}>
            <option value="">Every toolset</option>
            {toolset && !items.some((t) => t.slug === toolset) ? <option value={toolset}>{toolset}</option> : null}
            {items.map((t) => (
              <option key={t.id} value={t.slug}>
                {t.name}
              </option>
            ))}
          </Select>
          <Select label="Range" hidden value={range} onChange={(e) => change({ range: e.target.value as Range })}>
            {Object.entries(ranges).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </Select>
        </>
      }
    >
      <Tabs label="Pages of analytics" tabs={tabs} />
      <Outlet />
    </Page>
  );
}
