import { Outlet } from "@tanstack/react-router";
import { Page } from "../components/page";
import { Tabs, type Tab } from "../components/tabs";

const tabs = [
  { to: "/settings", name: "People", exact: true },
  { to: "/settings/tokens", name: "API tokens" },
  { to: "/settings/edges", name: "Edges" },
  { to: "/settings/domains", name: "Domains" },
  { to: "/settings/addresses", name: "Private addresses" },
  { to: "/settings/publishers", name: "Publishers" },
  { to: "/settings/transfer", name: "Export and import" },
  { to: "/settings/node", name: "Node" },
  { to: "/settings/audit", name: "Audit log" },
  { to: "/settings/about", name: "Backup and about" },
] as const satisfies readonly Tab[];

/** What the pages of settings have in common. */
export function Settings() {
  return (
    <Page title="Settings" lead="Of this workspace, and of the node.">
      <Tabs label="Pages of the settings" tabs={tabs} />
      <Outlet />
    </Page>
  );
}
