import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { AlertTriangle, Bell, Boxes, ChartColumn, CheckCircle2, FlaskConical, Home, Library, LogOut, Puzzle, Settings, XCircle } from "lucide-react";
import { useState } from "react";
import { Button } from "../components/button";
import { External } from "../components/external";
import { Select } from "../components/field";
import { healthQuery, worstOf } from "../lib/health";
import { can } from "../lib/roles";
import { closeSession, type Session } from "../lib/session";
import { places, type Place } from "../lib/shortcuts";
import { readTheme, writeTheme, type Theme } from "../lib/theme";
import { Menu } from "./menu";

const icons = { "/": Home, "/toolsets": Boxes, "/playground": FlaskConical, "/catalog": Library, "/plugins": Puzzle, "/analytics": ChartColumn, "/alerts": Bell, "/settings": Settings } as const satisfies Record<Place, typeof Home>;

export function Navigation({ session }: { session: Session }) {
  return (
    <header className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line bg-surface px-3 py-2 md:sticky md:top-0 md:h-dvh md:flex-col md:flex-nowrap md:items-stretch md:border-r md:border-b-0 md:px-3 md:py-4">
      <Link to="/" className="flex items-center gap-2 rounded px-2 py-1 text-[1.15rem] font-semibold tracking-tight">
        <img src="/icon.svg" alt="" width="22" height="22" />
        Sluice
      </Link>
      <Menu editor={can(session.role, "editor")} />
      <nav aria-label="Pages" className="md:mt-2">
        <ul className="flex flex-wrap gap-1 md:flex-col">
          {places.map(({ to, name }) => {
            const Icon = icons[to];
            return (
              <li key={to}>
                <Link
                  to={to}
                  activeOptions={{ exact: to === "/" }}
                  className="flex min-h-8 items-center gap-2.5 rounded-md px-2.5 text-muted hover:bg-sunken hover:text-text"
                  activeProps={{ className: "bg-accent-soft font-medium !text-text forced-colors:outline" }}
                >
                  <Icon aria-hidden size={16} />
                  {name}
                </Link>
              </li>
            );
          })}
        </ul>
      </nav>
      <Account session={session} />
    </header>
  );
}

function Account({ session }: { session: Session }) {
  const queries = useQueryClient();
  const [theme, setTheme] = useState(readTheme);
  const signOut = useMutation({
    mutationFn: closeSession,
    onSettled: () => {
      queries.clear();
      sessionStorage.clear();
      location.assign("/");
    },
  });
  const choose = (value: Theme) => {
    setTheme(value);
    writeTheme(value);
  };
  return (
    <div className="flex min-w-0 flex-1 flex-wrap items-center justify-end gap-2 md:mt-auto md:flex-none md:flex-col md:items-stretch">
      <Health />
      <Select label="Theme" hidden value={theme} onChange={(e) => choose(e.target.value as Theme)}>
        <option value="system">System theme</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </Select>
      <div className="hidden min-w-0 px-2 md:block">
        <p className="truncate font-medium" title={session.member?.email}>
          {session.name}
        </p>
        <p className="truncate text-muted">
          {session.role} in {session.workspace.name}
        </p>
      </div>
      <Button kind="quiet" busy={signOut.isPending} onClick={() => signOut.mutate()} className="md:justify-start md:px-2">
        <LogOut aria-hidden size={15} />
        Sign out
      </Button>
      <p className="hidden px-2 text-[0.86rem] text-muted md:block">
        {session.version} · <a className="underline" href="/licences.txt">Licences</a>
        <br />
        <External href="https://github.com/sluicegate/sluice/tree/main/docs">Documentation</External> ·{" "}
        <Link to="/reference" className="underline">
          API
        </Link>
      </p>
    </div>
  );
}

const healths = {
  ok: { Icon: CheckCircle2, look: "text-muted", text: "Node ready" },
  attention: { Icon: AlertTriangle, look: "text-warn", text: "Node needs attention" },
  failed: { Icon: XCircle, look: "text-bad", text: "Node not ready" },
} as const;

/** Whether the node can serve; its checks are on the page that it leads to. */
function Health() {
  const checks = useQuery(healthQuery).data ?? [];
  if (checks.length === 0) return null;
  const { Icon, look, text } = healths[worstOf(checks)];
  return (
    <Link to="/settings/node" className={`hidden items-center gap-2 px-2 hover:underline md:flex ${look}`}>
      <Icon aria-hidden size={15} className="shrink-0" />
      {text}
    </Link>
  );
}
