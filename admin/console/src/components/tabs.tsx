import { Link, type LinkProps } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

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
  const nav = useRef<HTMLElement>(null);
  // Where the window is narrow, the tab of an address that was opened may be beyond its edge. One that is followed is scrolled to by its focus.
  useEffect(() => {
    const here = nav.current?.querySelector('[aria-current="page"]')?.getBoundingClientRect();
    const seen = nav.current?.getBoundingClientRect();
    if (here && seen) nav.current?.scrollBy(Math.max(0, here.right - seen.right) + Math.min(0, here.left - seen.left), 0);
  }, []);
  return (
    <nav ref={nav} aria-label={label} className="mb-5 overflow-x-auto border-b border-line">
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
