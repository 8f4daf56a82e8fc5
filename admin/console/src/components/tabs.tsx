import { Link, type LinkProps } from "@tanstack/react-router";

export interface Tab {
  to: LinkProps["to"];
  name: string;
  /** Only its own address is this tab, none below it. */
  exact?: boolean;
  /** The search of the address stays. */
  keepSearch?: boolean;
}

interface Props {
  label: string;
  tabs: readonly Tab[];
  /** What the addresses of all tabs are filled in with, such as the toolset they belong to. */
  params?: Record<string, string>;
}

/** The links between the parts of a page; each part has an address of its own. */
export function Tabs({ label, tabs, params }: Props) {
  return (
    <nav aria-label={label} className="mb-5 overflow-x-auto border-b border-line">
      <ul className="flex gap-5">
        {tabs.map((tab) => (
          <li key={tab.name}>
            <Link
              to={tab.to}
              params={params as never}
              search={tab.keepSearch ? (true as never) : undefined}
              activeOptions={{ exact: tab.exact ?? false, includeSearch: false }}
              className="block pt-2 whitespace-nowrap"
              activeProps={{ className: "border-b-2 border-accent pb-1.5 font-medium" }}
              inactiveProps={{ className: "pb-2 text-muted hover:text-text" }}
            >
              {tab.name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
