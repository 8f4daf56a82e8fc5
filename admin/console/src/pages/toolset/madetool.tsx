import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Button, buttonClass } from "../../components/button";
import { CodeBlock } from "../../components/copy";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Badge } from "../../components/status";
import type { Schemas } from "../../lib/api";

interface Props {
  slug: string;
  tool: Pick<Schemas["ToolsetWorkflow"], "name" | "title" | "description" | "state" | "missing">;
  editor: boolean;
  remove: () => void;
  /** What it is written as: Document, Code. */
  text: string;
  open: boolean;
  onOpen: (open: boolean) => void;
  /** What it is written as, once that is asked for. */
  whole: { error: Error | null; text: string | undefined; retry: () => void };
  plan?: ReactNode;
  /** What it does. */
  children: ReactNode;
}

/** A tool that somebody made of other tools: a workflow or a script. */
export function MadeTool({ slug, tool: t, editor, remove, text, open, onOpen, whole, plan, children }: Props) {
  return (
    <Card title={t.name} actions={t.state === "ready" ? <Badge tone="ok">Ready</Badge> : <Badge tone="warn">Waiting</Badge>}>
      {t.title || t.description ? <p className="break-words">{t.title || t.description}</p> : null}
      {children}
      {t.missing?.length ? (
        <p className="mb-2 break-words text-warn">
          It is not served before these are there and enabled: <code className="font-mono">{t.missing.join(", ")}</code>
        </p>
      ) : null}
      {plan}
      <div className="mt-3 flex flex-wrap gap-2">
        {editor && t.state === "ready" ? (
          <Link to="/playground" search={{ toolset: slug, tool: t.name }} className={buttonClass("primary")} aria-label={`Test ${t.name}`}>
            Test
          </Link>
        ) : null}
        <Button onClick={() => onOpen(!open)} aria-expanded={open} aria-label={`${text} of ${t.name}`}>
          {text}
        </Button>
        {editor ? (
          <Button onClick={remove} aria-label={`Remove ${t.name}`}>
            Remove
          </Button>
        ) : null}
      </div>
      {open ? (
        <div className="mt-3">
          {whole.error ? <ProblemNote error={whole.error} retry={whole.retry} /> : null}
          {whole.text ? <CodeBlock label={`the ${text.toLowerCase()} of ${t.name}`} text={whole.text} /> : null}
        </div>
      ) : null}
    </Card>
  );
}
