import { Link } from "@tanstack/react-router";
import { buttonClass } from "./button";
import { CodeBlock } from "./copy";
import { Card } from "./page";
import { useCan } from "../lib/session";

/** What somebody is told who may not create toolsets. */
export const EDITORS_CREATE = "Creating a toolset needs the role editor: an administrator of this workspace can give it to you.";

/** The way to a new toolset, for who may go it. */
export function CreateToolset() {
  if (!useCan("editor")) return null;
  return (
    <Link to="/toolsets/new" className={buttonClass("primary")}>
      Create toolset
    </Link>
  );
}

/** What stands where there is no toolset yet. */
export function NoToolsets() {
  if (!useCan("editor")) {
    return (
      <Card title="There are no toolsets">
        <p className="text-muted">{EDITORS_CREATE}</p>
      </Card>
    );
  }
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
