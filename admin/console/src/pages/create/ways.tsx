import { Link } from "@tanstack/react-router";

const ways = [
  { to: "/toolsets/new", name: "OpenAPI specification" },
  { to: "/toolsets/new/mcp", name: "MCP server" },
  { to: "/catalog", name: "Catalog" },
] as const;

/** What a toolset is made from. */
export function Ways() {
  return (
    <nav aria-label="Made from" className="mb-5 flex flex-wrap items-center gap-2">
      <span className="text-muted">Made from</span>
      {ways.map((w) => (
        <Link
          key={w.to}
          to={w.to}
          activeOptions={{ exact: true }}
          className="flex min-h-8 items-center rounded-md border border-line-strong bg-surface px-3 hover:bg-sunken"
          activeProps={{ className: "!border-accent bg-accent-soft font-medium forced-colors:outline", "aria-current": "page" }}
        >
          {w.name}
        </Link>
      ))}
    </nav>
  );
}
