import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { buttonClass } from "../../components/button";
import { CodeBlock, CommandLine } from "../../components/copy";
import { Select } from "../../components/field";
import { Figures, FiguresSkeleton } from "../../components/figures";
import { Card, Fact } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { AuthState, Badge } from "../../components/status";
import type { Schemas } from "../../lib/api";
import { clientSetups } from "../../lib/clients";
import { date, milliseconds, saved, count } from "../../lib/format";
import { toolsetQuery, usageQuery } from "../../lib/queries";
import { Attention } from "./attention";
import { EntryUpdates } from "./entryupdate";
import { HeldChanges } from "./heldchange";

export function Overview() {
  const { slug } = useParams({ from: "/toolsets/$slug" });
  const toolset = useQuery(toolsetQuery(slug));
  const usage = useQuery(usageQuery(slug));
  if (!toolset.data) return null; // The layout says why.
  const t = toolset.data.data;
  return (
    <div className="space-y-5">
      <HeldChanges toolset={t} />
      <Attention toolset={t} />
      <EntryUpdates toolset={t} />
      <Address toolset={t} />
      {usage.isError ? <ProblemNote error={usage.error} retry={() => void usage.refetch()} /> : null}
      {usage.data ? <Figures totals={usage.data.totals} /> : usage.isPending ? <FiguresSkeleton /> : null}
      <div className="grid items-start gap-5 lg:grid-cols-2">
        <LastTest toolset={t} />
        <About toolset={t} />
      </div>
      <CommandLine command={`sluice toolset get ${t.slug}`} />
    </div>
  );
}

const access = {
  none: "Whoever reaches the node may call it",
  token: "Access token needed",
  jwt: "Login at an authorization server needed",
} as const;

export function Address({ toolset }: { toolset: Schemas["ToolsetDetail"] }) {
  const setups = clientSetups(toolset);
  const [id, setId] = useState(setups[0]?.id);
  const setup = setups.find((s) => s.id === id);
  if (toolset.status === "draft") {
    return (
      <Card title="Toolset URL">
        <p className="mb-3">Not deployed yet: a test that passes deploys it.</p>
        <CodeBlock label="the command that tests it" text={`sluice toolset test ${toolset.slug}`} />
      </Card>
    );
  }
  return (
    <Card title="Toolset URL" actions={<span className="text-muted">{access[toolset.access.mode]}</span>}>
      <CodeBlock label="the toolset URL" text={toolset.url} />
      <div className="mt-4 mb-2 flex flex-wrap items-end justify-between gap-3">
        <Select label="Connect" value={id} onChange={(e) => setId(e.target.value)}>
          {setups.map((s) => (
            <option key={s.id} value={s.id}>
              {s.title}
            </option>
          ))}
        </Select>
        {setup?.link ? (
          <a className={buttonClass()} href={setup.link}>
            Open in {setup.title}
          </a>
        ) : null}
      </div>
      {setup ? (
        <>
          <p className="mb-1.5 text-muted">{setup.how}:</p>
          <CodeBlock label={`the setup of ${setup.title}`} text={setup.text} />
        </>
      ) : null}
    </Card>
  );
}

function LastTest({ toolset }: { toolset: Schemas["ToolsetDetail"] }) {
  const test = toolset.test;
  if (!test) {
    return (
      <Card title="Last test">
        <p className="text-muted">Not tested yet.</p>
      </Card>
    );
  }
  return (
    <Card title="Last test" actions={test.passed ? <Badge tone="ok">Passed</Badge> : <Badge tone="bad">Failed</Badge>}>
      {test.reason ? <p className="mb-2 break-words">{test.reason}</p> : null}
      <dl>
        {test.tool ? <Fact name="Tool"><code className="font-mono">{test.tool}</code></Fact> : null}
        {test.upstreamStatus ? <Fact name="Answer of the API">HTTP {test.upstreamStatus}</Fact> : null}
        <Fact name="Duration">{milliseconds(test.durationSeconds * 1000)}</Fact>
        {test.tokens.received > 0 ? (
          <Fact name="Tokens">
            {count(test.tokens.received)} → {count(test.tokens.result)} ({saved(test.tokens.received, test.tokens.result)})
          </Fact>
        ) : null}
        <Fact name="When">{date(test.at)}</Fact>
      </dl>
    </Card>
  );
}

const profiles = { off: "As the API answers", lossless: "Shorter, nothing left out", concise: "Concise" } as const;
const selections = {
  all: "All tools listed",
  "use-case": "Tools for the use case",
  search: "Found by search",
  code: "Called from scripts",
} as const;

function About({ toolset: t }: { toolset: Schemas["ToolsetDetail"] }) {
  return (
    <Card title="About">
      <dl>
        <Fact name="Source">
          {t.source.title} {t.source.version} ({t.source.kind === "mcp" ? "MCP server" : `OpenAPI ${t.source.specVersion}`})
        </Fact>
        <Fact name="API">{t.baseUrl}</Fact>
        <Fact name="Credential"><AuthState toolset={t} /></Fact>
        <Fact name="Answers">{profiles[t.profile]}</Fact>
        <Fact name="Tool list">{selections[t.selection]}</Fact>
        {t.useCase ? <Fact name="Use case">{t.useCase}</Fact> : null}
        <Fact name="Operations">
          {count(t.operations)}
          {t.unsupported.length > 0 ? `, ${count(t.unsupported.length)} of them cannot be tools` : ""}
        </Fact>
        <Fact name="Created">{date(t.createdAt)}</Fact>
      </dl>
    </Card>
  );
}
