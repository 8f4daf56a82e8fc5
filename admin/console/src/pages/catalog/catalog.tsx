import { Outlet } from "@tanstack/react-router";
import { Page } from "../../components/page";
import { Tabs } from "../../components/tabs";

const tabs = [
  { to: "/catalog", name: "Connectors", exact: true },
  { to: "/catalog/requests", name: "Requests" },
] as const;

/** What the list of connectors and that of requests have in common. */
export function Catalog() {
  return (
    <Page title="Catalog" lead="Services whose toolset is one step away, and those that people ask for.">
      <Tabs label="Pages of the catalog" tabs={tabs} />
      <Outlet />
    </Page>
  );
}
