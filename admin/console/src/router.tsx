import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { Failed, NotFound } from "./components/fallback";
import { load } from "./lib/connection";
import { readSearch } from "./pages/analytics/search";
import { readAuditSearch } from "./pages/settings/auditsearch";
import { Shell } from "./shell/shell";

/** A page whose files are loaded when it is opened. */
const page: typeof lazyRouteComponent = (importer, name) => lazyRouteComponent(() => load(importer), name);

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: Failed });

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: page(() => import("./pages/home"), "Home"),
});

const toolsets = createRoute({
  getParentRoute: () => root,
  path: "/toolsets",
  component: page(() => import("./pages/toolsets"), "Toolsets"),
});

const toolset = createRoute({
  getParentRoute: () => root,
  path: "/toolsets/$slug",
  component: page(() => import("./pages/toolset/layout"), "ToolsetLayout"),
});

const overview = createRoute({
  getParentRoute: () => toolset,
  path: "/",
  component: page(() => import("./pages/toolset/overview"), "Overview"),
});

const tools = createRoute({
  getParentRoute: () => toolset,
  path: "tools",
  component: page(() => import("./pages/toolset/tools"), "Tools"),
});

const optimizations = createRoute({
  getParentRoute: () => toolset,
  path: "optimizations",
  component: page(() => import("./pages/toolset/optimizations"), "Optimizations"),
});

const connectors = createRoute({
  getParentRoute: () => toolset,
  path: "connectors",
  component: page(() => import("./pages/toolset/connectors"), "Connectors"),
});

const toolsetAccess = createRoute({
  getParentRoute: () => toolset,
  path: "access",
  component: page(() => import("./pages/toolset/access"), "Access"),
});

const toolsetAuthentication = createRoute({
  getParentRoute: () => toolset,
  path: "authentication",
  component: page(() => import("./pages/toolset/authentication"), "Authentication"),
});

const toolsetWorkflows = createRoute({
  getParentRoute: () => toolset,
  path: "workflows",
  component: page(() => import("./pages/toolset/workflows"), "Workflows"),
});

const toolsetPlugins = createRoute({
  getParentRoute: () => toolset,
  path: "plugins",
  component: page(() => import("./pages/toolset/plugins"), "ToolsetPlugins"),
});

const toolsetDomains = createRoute({
  getParentRoute: () => toolset,
  path: "domains",
  component: page(() => import("./pages/toolset/domains"), "ToolsetDomains"),
});

const toolsetSettings = createRoute({
  getParentRoute: () => toolset,
  path: "settings",
  component: page(() => import("./pages/toolset/settings"), "ToolsetSettings"),
});

const revisions = createRoute({
  getParentRoute: () => toolset,
  path: "revisions",
  component: page(() => import("./pages/toolset/revisions"), "Revisions"),
});

const settings = createRoute({
  getParentRoute: () => root,
  id: "settings",
  component: page(() => import("./pages/settings"), "Settings"),
});

const people = createRoute({
  getParentRoute: () => settings,
  path: "/settings",
  component: page(() => import("./pages/settings/people"), "People"),
});

const apiTokens = createRoute({
  getParentRoute: () => settings,
  path: "/settings/tokens",
  component: page(() => import("./pages/settings/tokens"), "Tokens"),
});

const edges = createRoute({
  getParentRoute: () => settings,
  path: "/settings/edges",
  component: page(() => import("./pages/settings/edges"), "Edges"),
});

const addresses = createRoute({
  getParentRoute: () => settings,
  path: "/settings/addresses",
  component: page(() => import("./pages/settings/addresses"), "Addresses"),
});

const domains = createRoute({
  getParentRoute: () => settings,
  path: "/settings/domains",
  component: page(() => import("./pages/settings/domains"), "WorkspaceDomains"),
});

const publishers = createRoute({
  getParentRoute: () => settings,
  path: "/settings/publishers",
  component: page(() => import("./pages/settings/publishers"), "Publishers"),
});

const transfer = createRoute({
  getParentRoute: () => settings,
  path: "/settings/transfer",
  component: page(() => import("./pages/settings/transfer"), "Transfer"),
});

const node = createRoute({
  getParentRoute: () => settings,
  path: "/settings/node",
  component: page(() => import("./pages/settings/node"), "Node"),
});

const audit = createRoute({
  getParentRoute: () => settings,
  path: "/settings/audit",
  validateSearch: readAuditSearch,
  component: page(() => import("./pages/settings/audit"), "AuditLog"),
});

const about = createRoute({
  getParentRoute: () => settings,
  path: "/settings/about",
  component: page(() => import("./pages/settings/about"), "About"),
});

const alerts = createRoute({
  getParentRoute: () => root,
  id: "alerts",
  component: page(() => import("./pages/alerts/alerts"), "Alerts"),
});

const activeAlerts = createRoute({
  getParentRoute: () => alerts,
  path: "/alerts",
  component: page(() => import("./pages/alerts/list"), "ActiveAlerts"),
});

const alertHistory = createRoute({
  getParentRoute: () => alerts,
  path: "/alerts/history",
  component: page(() => import("./pages/alerts/list"), "AlertHistory"),
});

const alertRules = createRoute({
  getParentRoute: () => alerts,
  path: "/alerts/rules",
  component: page(() => import("./pages/alerts/rules"), "Rules"),
});

const channels = createRoute({
  getParentRoute: () => alerts,
  path: "/alerts/channels",
  component: page(() => import("./pages/alerts/channels"), "Channels"),
});

const deliveries = createRoute({
  getParentRoute: () => alerts,
  path: "/alerts/deliveries",
  component: page(() => import("./pages/alerts/deliveries"), "DeliveryLog"),
});

const alert = createRoute({
  getParentRoute: () => root,
  path: "/alerts/$id",
  component: page(() => import("./pages/alerts/alert"), "AlertPage"),
});

const analytics = createRoute({
  getParentRoute: () => root,
  id: "analytics",
  validateSearch: readSearch,
  component: page(() => import("./pages/analytics/analytics"), "Analytics"),
});

const usage = createRoute({
  getParentRoute: () => analytics,
  path: "/analytics",
  component: page(() => import("./pages/analytics/usage"), "UsagePage"),
});

const errors = createRoute({
  getParentRoute: () => analytics,
  path: "/analytics/errors",
  component: page(() => import("./pages/analytics/errors"), "ErrorsPage"),
});

const calls = createRoute({
  getParentRoute: () => analytics,
  path: "/analytics/calls",
  component: page(() => import("./pages/analytics/calls"), "CallLog"),
});

const plugins = createRoute({
  getParentRoute: () => root,
  path: "/plugins",
  component: page(() => import("./pages/plugins/plugins"), "Plugins"),
});

const plugin = createRoute({
  getParentRoute: () => root,
  path: "/plugins/$name",
  validateSearch: (search: Record<string, unknown>): { version?: string } => (typeof search.version === "string" ? { version: search.version.slice(0, 80) } : {}),
  component: page(() => import("./pages/plugins/plugin"), "PluginPage"),
});

const catalog = createRoute({
  getParentRoute: () => root,
  id: "catalog",
  component: page(() => import("./pages/catalog/catalog"), "Catalog"),
});

const entries = createRoute({
  getParentRoute: () => catalog,
  path: "/catalog",
  component: page(() => import("./pages/catalog/entries"), "Entries"),
});

const requests = createRoute({
  getParentRoute: () => catalog,
  path: "/catalog/requests",
  component: page(() => import("./pages/catalog/requests"), "Requests"),
});

const newRequest = createRoute({
  getParentRoute: () => root,
  path: "/catalog/requests/new",
  validateSearch: (search: Record<string, unknown>): { name?: string } => (typeof search.name === "string" ? { name: search.name.slice(0, 80) } : {}),
  component: page(() => import("./pages/catalog/newrequest"), "NewRequest"),
});

const entry = createRoute({
  getParentRoute: () => root,
  path: "/catalog/$entry",
  component: page(() => import("./pages/catalog/entry"), "EntryPage"),
});

const playground = createRoute({
  getParentRoute: () => root,
  path: "/playground",
  validateSearch: (search: Record<string, unknown>): { toolset?: string; tool?: string; args?: Record<string, unknown> } => ({
    ...(typeof search.toolset === "string" ? { toolset: search.toolset } : {}),
    ...(typeof search.tool === "string" ? { tool: search.tool } : {}),
    ...(typeof search.args === "object" && search.args !== null && !Array.isArray(search.args) ? { args: search.args as Record<string, unknown> } : {}),
  }),
  component: page(() => import("./pages/playground/playground"), "Playground"),
});

const word = (value: unknown) => (typeof value === "string" || typeof value === "number" ? String(value).slice(0, 100) : "");

const reference = createRoute({
  getParentRoute: () => root,
  path: "/reference",
  validateSearch: (search: Record<string, unknown>): { q?: string; tag?: string } => ({
    ...(word(search.q) ? { q: word(search.q) } : {}),
    ...(word(search.tag) ? { tag: word(search.tag) } : {}),
  }),
  component: page(() => import("./pages/reference/reference"), "Reference"),
});

const operation = createRoute({
  getParentRoute: () => root,
  path: "/reference/$operation",
  component: page(() => import("./pages/reference/operation"), "OperationPage"),
});

const source = createRoute({
  getParentRoute: () => root,
  path: "/toolsets/new",
  component: page(() => import("./pages/create/source"), "Source"),
});

const server = createRoute({
  getParentRoute: () => root,
  path: "/toolsets/new/mcp",
  component: page(() => import("./pages/create/server"), "Server"),
});

const serverLogin = createRoute({
  getParentRoute: () => root,
  path: "/toolsets/new/mcp-authentication",
  validateSearch: (search: Record<string, unknown>): { login?: string } => (typeof search.login === "string" ? { login: search.login.slice(0, 64) } : {}),
  component: page(() => import("./pages/create/serverlogin"), "ServerLogin"),
});

const create = createRoute({
  getParentRoute: () => root,
  path: "/toolsets/new/$slug",
  component: page(() => import("./pages/create/steps"), "DraftLayout"),
});

const createReview = createRoute({
  getParentRoute: () => create,
  path: "review",
  component: page(() => import("./pages/create/review"), "Review"),
});

const createAuthentication = createRoute({
  getParentRoute: () => create,
  path: "authentication",
  component: page(() => import("./pages/create/authentication"), "Authentication"),
});

const createNames = createRoute({
  getParentRoute: () => create,
  path: "names",
  component: page(() => import("./pages/create/names"), "Names"),
});

const createTest = createRoute({
  getParentRoute: () => create,
  path: "test",
  component: page(() => import("./pages/create/test"), "Test"),
});

const createLive = createRoute({
  getParentRoute: () => create,
  path: "live",
  component: page(() => import("./pages/create/live"), "Live"),
});

const tree = root.addChildren([
  home,
  settings.addChildren([people, apiTokens, edges, domains, addresses, publishers, transfer, node, audit, about]),
  toolsets,
  toolset.addChildren([overview, connectors, tools, optimizations, toolsetAuthentication, toolsetAccess, toolsetDomains, toolsetWorkflows, toolsetPlugins, revisions, toolsetSettings]),
  playground,
  source,
  server,
  serverLogin,
  create.addChildren([createReview, createAuthentication, createNames, createTest, createLive]),
  alerts.addChildren([activeAlerts, alertHistory, alertRules, channels, deliveries]),
  alert,
  plugins,
  plugin,
  analytics.addChildren([usage, errors, calls]),
  catalog.addChildren([entries, requests]),
  newRequest,
  entry,
  reference,
  operation,
]);

export const makeRouter = () =>
  createRouter({ routeTree: tree, defaultPreload: "intent", defaultPreloadStaleTime: 0, scrollRestoration: false });

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
