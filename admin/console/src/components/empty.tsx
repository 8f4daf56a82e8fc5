import { Link } from "@tanstack/react-router";
import { buttonClass } from "./button";
import { CodeBlock } from "./copy";
import { Card } from "./page";

/** The way to a new toolset. */
export const CreateToolset = () => (
  <Link to="/toolsets/new" className={buttonClass("primary")}>
    Create toolset
  </Link>
);

/** What stands where there is no toolset yet. */
export function NoToolsets() {
  return (
    <Card title="Create your first toolset">
      <p className="mb-3 text-muted">From an OpenAPI specification, or from an MCP server. It is tested, and deployed when the test passes.</p>
      <p className="mb-3 flex flex-wrap gap-2">
        <Link to="/toolsets/new" className={buttonClass("primary")}>
          Create from an OpenAPI specification
        </Link>
        <Link to="/toolsets/new/mcp" className={buttonClass()}>
          From an MCP server
        </Link>
        <Link to="/catalog" className={buttonClass()}>
          From the catalog
        </Link>
      </p>
      <div className="space-y-2">
        <CodeBlock label="the command for a specification" text="sluice add https://petstore3.swagger.io/api/v3/openapi.json" />
        <CodeBlock label="the command for an MCP server" text="sluice add https://mcp.example.com/mcp" />
      </div>
    </Card>
  );
}
