import { Check, Circle, LoaderCircle, Minus, X } from "lucide-react";
import { Card } from "../../components/page";
import type { ConnectionStep } from "./connection";

const names = { reach: "Reach the server", protocol: "Transport and revision", authentication: "Authentication", list: "Tools" } as const;

const icons = {
  waiting: <Circle aria-hidden size={16} className="text-muted" />,
  running: <LoaderCircle aria-hidden size={16} className="animate-spin text-accent motion-reduce:animate-none" />,
  done: <Check aria-hidden size={16} className="text-ok" />,
  failed: <X aria-hidden size={16} className="text-bad" />,
  skipped: <Minus aria-hidden size={16} className="text-muted" />,
};

const words = { waiting: "waiting", running: "now", done: "done", failed: "failed", skipped: "not known" };

/** The steps of connecting to a server, as they stand. */
export function ConnectionSteps({ steps }: { steps: ConnectionStep[] }) {
  return (
    <Card title="The connection">
      <div role="status">
        <ol aria-label="Steps of the connection" className="space-y-2">
          {(Object.keys(names) as (keyof typeof names)[]).map((name) => {
            const step = steps.find((s) => s.name === name);
            const state = step?.state ?? "waiting";
            return (
              <li key={name} className="flex items-start gap-2.5">
                <span className="mt-0.5 shrink-0">{icons[state]}</span>
                <span className="min-w-0 break-words">
                  <span className="font-medium">{names[name]}</span>
                  <span className="sr-only">: {words[state]}</span>
                  {step?.detail ? <span className="block text-muted">{step.detail}</span> : null}
                </span>
              </li>
            );
          })}
        </ol>
      </div>
    </Card>
  );
}
