import { AlertTriangle, CheckCircle2, Circle, CirclePause, KeyRound, Pencil, XCircle } from "lucide-react";
import type { ReactNode } from "react";
import type { Schemas } from "../lib/api";
import { credentialState } from "../lib/credential";

type Tone = "ok" | "warn" | "bad" | "plain";

const tones: Record<Tone, { look: string; Icon: typeof Circle }> = {
  ok: { look: "bg-ok-soft text-ok", Icon: CheckCircle2 },
  warn: { look: "bg-warn-soft text-warn", Icon: AlertTriangle },
  bad: { look: "bg-bad-soft text-bad", Icon: XCircle },
  plain: { look: "bg-sunken text-muted", Icon: Circle },
};

/** A state in words, with an icon: colour alone says nothing. */
export function Badge({ tone, children, Icon = tones[tone].Icon }: { tone: Tone; children: ReactNode; Icon?: typeof Circle }) {
  return (
    <span className={`inline-flex items-center gap-1 rounded-full border border-transparent px-2 py-px text-[0.86rem] font-medium whitespace-nowrap ${tones[tone].look}`}>
      <Icon aria-hidden size={13} />
      {children}
    </span>
  );
}

export function ToolsetStatus({ toolset }: { toolset: Pick<Schemas["Toolset"], "status" | "changed" | "paused"> }) {
  if (toolset.status === "draft") return <Badge tone="plain" Icon={Pencil}>Draft</Badge>;
  return (
    <span className="inline-flex flex-wrap gap-1">
      {toolset.paused ? <Badge tone="warn" Icon={CirclePause}>Paused</Badge> : <Badge tone="ok">Live</Badge>}
      {toolset.changed ? <Badge tone="plain" Icon={Pencil}>Draft changed</Badge> : null}
    </span>
  );
}

const credentials = {
  failing: { tone: "bad", name: "Refused" },
  expired: { tone: "bad", name: "Expired" },
  login_required: { tone: "warn", name: "Login needed" },
  missing: { tone: "warn", name: "Not set" },
  ok: { tone: "ok", name: "Works" },
  set: { tone: "plain", name: "Set" },
} as const;

/** The worst state of a toolset's credentials. */
export function AuthState({ toolset }: { toolset: Pick<Schemas["Toolset"], "connectors"> }) {
  const state = credentialState(toolset.connectors);
  if (state === "none") return <span className="text-muted">None</span>;
  const { tone, name } = credentials[state];
  return <Badge tone={tone} {...(state === "set" ? { Icon: KeyRound } : {})}>{name}</Badge>;
}
