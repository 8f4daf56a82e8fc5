import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Button } from "../../components/button";
import { CodeBlock } from "../../components/copy";
import { SearchField } from "../../components/field";
import { Fact } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Table, type Column } from "../../components/table";
import { api, unwrap, type Schemas } from "../../lib/api";
import { count, milliseconds, plural } from "../../lib/format";
import { shellWord } from "../../lib/clients";
import { selectionQuery } from "../../lib/queries";
import type { Arguments } from "./form";

type Inspection = Schemas["Inspection"];

const stages: Record<string, string> = {
  decode: "Check the arguments",
  build: "Build the request",
  auth: "Put the credential on it",
  cache: "Look at kept answers",
  send: "Call the API",
  transform: "Shape the answer",
  plugins: "Run plugins",
  compress: "Write the text",
  result: "Encode the result",
};

export function Answer({ run }: { run: Schemas["TestAnswer"] }) {
  return (
    <>
      <p className="mb-2 text-muted">
        {run.inspection?.isError ? "The agent is told that the call failed (isError):" : "What the agent receives:"}
        {run.answerCut ? " its first 256 KiB." : ""}
      </p>
      <CodeBlock label="the answer" text={run.answer ?? ""} />
    </>
  );
}

interface Bar {
  name: string;
  /** undefined: it ran within a stage. */
  start: number | undefined;
  ms: number;
  note: string;
}

/** The parts of a call; each stage begins where the one before ended. */
function barsOf(of: Inspection): Bar[] {
  const bars: Bar[] = [];
  let at = 0;
  for (const s of of.stages ?? []) {
    const note = s.name === "send" && of.upstreamMs > 0 ? `${milliseconds(of.upstreamMs)} of it waiting for the API` : "";
    bars.push({ name: s.name === "send" && of.calls?.length ? "Make its calls" : (stages[s.name] ?? s.name), start: at, ms: s.ms, note });
    at += s.ms;
  }
  for (const p of of.plugins ?? []) bars.push({ name: `Plugin ${p.name}@${p.version}`, start: undefined, ms: p.ms, note: p.failure ?? `${count(p.bytesIn)} → ${count(p.bytes)} bytes` });
  for (const c of of.calls ?? []) bars.push({ name: c.tool, start: c.startMs, ms: c.ms, note: `${c.outcome}, ${count(c.tokensIn)} → ${plural(c.tokens, "token")}` });
  return bars;
}

/** Where the time went. */
export function Timing({ of }: { of: Inspection }) {
  const bars = barsOf(of);
  const whole = Math.max(of.totalMs, ...bars.map((b) => (b.start ?? 0) + b.ms), 0.001);
  return (
    <>
      <div className="overflow-x-auto rounded-lg border border-line bg-surface" role="region" aria-label="Timing" tabIndex={0}>
        <table className="w-full border-collapse">
          <thead>
            <tr className="border-b border-line text-left text-muted">
              <th scope="col" className="px-4 py-2 font-medium">Part</th>
              <th scope="col" className="hidden px-4 py-2 font-medium lg:table-cell">When</th>
              <th scope="col" className="px-4 py-2 text-right font-medium">Took</th>
              <th scope="col" className="px-4 py-2 font-medium">Note</th>
            </tr>
          </thead>
          <tbody>
            {bars.map((b) => (
              <tr key={`${b.name} ${b.start} ${b.ms}`} className="border-b border-line last:border-0">
                <td className="px-4 py-2">{b.name}</td>
                <td className="hidden px-4 py-2 lg:table-cell">
                  {b.start === undefined ? null : (
                    <div aria-hidden className="relative h-3 w-60">
                      <span
                        className="absolute inset-y-0 min-w-0.5 border border-accent bg-accent"
                        style={{ left: `${(b.start / whole) * 100}%`, width: `${Math.min(b.ms / whole, 1 - b.start / whole) * 100}%` }}
                      />
                    </div>
                  )}
                </td>
                <td className="px-4 py-2 text-right whitespace-nowrap tabular-nums">{milliseconds(b.ms)}</td>
                <td className="px-4 py-2">{b.note}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="mt-2 text-muted">
        {milliseconds(of.totalMs)} in all{of.cached ? "; the answer was kept from an earlier call" : ""}.
      </p>
    </>
  );
}

/** What plugins got of the answer and made of it, and how it becomes a golden case of one. */
export function Plugins({ of, slug, tool, args }: { of: Inspection; slug: string; tool: string; args: Arguments }) {
  const ran = of.plugins ?? [];
  return (
    <div className="space-y-4">
      {ran.length === 0 ? <p className="text-muted">No plugin ran.</p> : <Table label="Plugins that ran" columns={pluginColumns} rows={ran} id={(p) => `${p.name} ${ran.indexOf(p)}`} />}
      {of.inputs?.map((input) => (
        <Part key={`${input.part} ${input.type}`} title={`What plugins get: ${input.part}, ${input.type}`}>
          {input.text === undefined ? <p className="text-muted">A file.</p> : <CodeBlock label={`the ${input.part}`} text={input.text} />}
          {input.cut ? <p className="text-muted">Its first 512 KiB.</p> : null}
        </Part>
      ))}
      {of.inputs?.length ? (
        <Part title="As a golden case of a plugin, without secrets">
          <CodeBlock label="the command for a golden case" text={`sluice plugin capture ${slug} ${tool}${Object.keys(args).length > 0 ? ` --args ${shell(JSON.stringify(args))}` : ""}`} />
        </Part>
      ) : null}
    </div>
  );
}

const pluginColumns: Column<Schemas["InspectedPlugin"]>[] = [
  { name: "Plugin", cell: (p) => <code className="font-mono">{`${p.name}@${p.version}`}</code> },
  { name: "Bytes before", number: true, cell: (p) => count(p.bytesIn) },
  { name: "Bytes after", number: true, cell: (p) => count(p.bytes) },
  { name: "Took", number: true, cell: (p) => milliseconds(p.ms) },
  { name: "Failed", cell: (p) => p.failure ?? "No" },
];

const shell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

export function asCurl(r: Schemas["InspectedRequest"]): string {
  const parts = [`curl -X ${r.method} ${shell(r.url)}`, ...(r.headers ?? []).map((h) => `-H ${shell(`${h.name}: ${h.value}`)}`)];
  if (r.body) parts.push(`--data-binary ${shell(r.body)}`);
  return parts.join(" \\\n  ");
}

export const asCall = (slug: string, tool: string, args: Arguments) => `sluice call ${slug} ${tool}${Object.keys(args).length > 0 ? ` --args ${shell(JSON.stringify(args))}` : ""}`;

/** The call over MCP, as a shell makes it. */
export function asMCP({ url, access }: Pick<Schemas["Toolset"], "url" | "access">, tool: string, args: Arguments): string {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: args } };
  return [
    `curl -s ${shellWord(url)}`,
    "-H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream'",
    ...(access.mode === "token" ? ["-H 'Authorization: Bearer TOKEN'"] : []),
    `-d ${shell(JSON.stringify(message))}`,
  ].join(" \\\n  ");
}

export function Request({ of, toolset, tool, args }: { of: Inspection; toolset: Pick<Schemas["Toolset"], "slug" | "url" | "access">; tool: Schemas["Tool"]; args: Arguments }) {
  return (
    <div className="space-y-4">
      {of.request ? (
        <>
          <Part title="As sent, with masked credentials">
            <CodeBlock
              label="the request"
              text={[`${of.request.method} ${of.request.url}`, ...(of.request.headers ?? []).map((h) => `${h.name}: ${h.value}`), ...(of.request.body ? ["", of.request.body] : [])].join("\n")}
            />
          </Part>
          <Part title="With curl, with the credential put in by you">
            <CodeBlock label="the request for curl" text={asCurl(of.request)} />
          </Part>
        </>
      ) : (
        <p className="text-muted">
          {of.calls?.length ? "This tool makes calls of others: Timing lists them." : "No HTTP request was sent for this tool: it is of an MCP server or a workflow, or the call failed before."}
        </p>
      )}
      <Part title="The call of the live toolset">
        <CodeBlock label="the call" text={asCall(toolset.slug, tool.name, args)} />
      </Part>
      <Part title="The same with curl, over MCP">
        <CodeBlock label="the call for curl" text={asMCP(toolset, tool.name, args)} />
      </Part>
    </div>
  );
}

const Part = ({ title, children }: { title: string; children: ReactNode }) => (
  <div>
    <h3 className="mb-1 font-medium">{title}</h3>
    {children}
  </div>
);

/** What an agent sees of the toolset and the tool before it calls. */
export function AgentView({ slug, tool }: { slug: string; tool: Schemas["Tool"] }) {
  const [typed, setTyped] = useState("");
  const [query, setQuery] = useState("");
  const selection = useQuery(selectionQuery(slug));
  const search = useQuery({
    queryKey: ["toolset", slug, "search", query],
    queryFn: () => unwrap(api.GET("/v1/toolsets/{id}/search", { params: { path: { id: slug }, query: { q: query } } })),
    enabled: query !== "",
  });
  return (
    <div className="space-y-4">
      {selection.isError ? <ProblemNote error={selection.error} /> : null}
      <dl>
        <Fact name="This tool's definition">{plural(tool.tokens, "token")}</Fact>
        {selection.data?.advice ? (
          <>
            <Fact name="tools/list with all tools">
              {plural(selection.data.advice.all.tools, "tool")}, {plural(selection.data.advice.all.tokens, "token")}
            </Fact>
            <Fact name="tools/list with search">
              {plural(selection.data.advice.search.tools, "tool")}, {plural(selection.data.advice.search.tokens, "token")}
            </Fact>
            <Fact name="In use">{selection.data.selection}</Fact>
          </>
        ) : null}
      </dl>
      <Part title="The definition">
        <CodeBlock label="the definition" text={JSON.stringify({ name: tool.name, description: tool.description, inputSchema: tool.inputSchema }, null, 2)} />
      </Part>
      <form
        className="flex flex-wrap items-center gap-2"
        onSubmit={(e) => {
          e.preventDefault();
          setQuery(typed.trim());
        }}
      >
        <SearchField label="Search as an agent does" value={typed} onChange={(e) => setTyped(e.target.value)} />
        <Button type="submit">Search</Button>
      </form>
      {search.isError ? <ProblemNote error={search.error} /> : null}
      {search.data ? (
        <ol className="list-decimal space-y-1 pl-6" aria-label="Tools found">
          {search.data.results?.map((r) => (
            <li key={r.name} className={r.name === tool.name ? "font-semibold" : ""}>
              <code className="font-mono break-all">{r.name}</code> <span className="text-muted tabular-nums">{r.score.toFixed(2)}</span>
            </li>
          ))}
        </ol>
      ) : null}
    </div>
  );
}
