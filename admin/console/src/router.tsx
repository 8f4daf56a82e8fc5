import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { Failed, NotFound } from "./components/fallback";
import { Shell } from "./shell/shell";

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: Failed });

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  component: lazyRouteComponent(() => import("./pages/home"), "Home"),
});

const toolsets = createRoute({
  getParentRoute: () => root,
  path: "/toolsets",
  component: lazyRouteComponent(() => import("./pages/toolsets"), "Toolsets"),
});

const toolset = createRoute({
  getParentRoute: () => root,
  path: "/toolsets/$slug",
  component: lazyRouteComponent(() => import("./pages/toolset/layout"), "ToolsetLayout"),
});

const overview = createRoute({
  getParentRoute: () => toolset,
  path: "/",
  component: lazyRouteComponent(() => import("./pages/toolset/overview"), "Overview"),
});

const tools = createRoute({
  getParentRoute: () => toolset,
  path: "tools",
  component: lazyRouteComponent(() => import("./pages/toolset/tools"), "Tools"),
});

const revisions = createRoute({
  getParentRoute: () => toolset,
  path: "revisions",
  component: lazyRouteComponent(() => import("./pages/toolset/revisions"), "Revisions"),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  component: lazyRouteComponent(() => import("./pages/settings"), "Settings"),
});

const tree = root.addChildren([home, settings, toolsets, toolset.addChildren([overview, tools, revisions])]);

export const makeRouter = () =>
  createRouter({ routeTree: tree, defaultPreload: "intent", defaultPreloadStaleTime: 0, scrollRestoration: false });

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
