import { Outlet } from "@tanstack/react-router";
import { Page } from "../../components/page";
import { Tabs } from "../../components/tabs";

const tabs = [
  { to: "/alerts", name: "Active", exact: true },
  { to: "/alerts/history", name: "History" },
  { to: "/alerts/rules", name: "Rules" },
  { to: "/alerts/channels", name: "Channels" },
  { to: "/alerts/deliveries", name: "Deliveries" },
] as const;

/** What the pages about alerts have in common. */
export function Alerts() {
  return (
    <Page title="Alerts" lead="What is wrong, what resolves it, and who is told.">
      <Tabs label="Pages of alerts" tabs={tabs} />
      <Outlet />
    </Page>
  );
}
