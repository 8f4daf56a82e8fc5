import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { Button, buttonClass } from "../../components/button";
import { CommandLine } from "../../components/copy";
import { TextField } from "../../components/field";
import { Card, Fact, Page } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { shellWord } from "../../lib/clients";
import { milliseconds, plural } from "../../lib/format";
import { asProblem } from "../../lib/problem";
import { useConnectionTest, type Connection } from "./connection";
import { ConnectionSteps } from "./connectionsteps";
import { createDraft, keepServer, readServer } from "./serverdraft";
import { ServerSteps } from "./steps";
import { Ways } from "./ways";
import { ofEditors } from "./editors";

/** The first step from an MCP server: whether it can be connected to, and what it is. */
export const Server = ofEditors(ServerStep);

function ServerStep() {
  const [kept, setKept] = useState(readServer);
  const { url, slug } = kept;
  const [fault, setFault] = useState("");
  const [phase, setPhase] = useState("");
  const test = useConnectionTest();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const create = useMutation({
    mutationFn: () => createDraft(url.trim(), {}, setPhase),
    onSuccess: async (made) => {
      void queries.invalidateQueries({ queryKey: ["toolsets"] });
      await navigate({ to: "/toolsets/new/$slug/review", params: { slug: made } });
    },
  });
  const enter = (next: string) => {
    const draft = { url: next, slug: "" };
    setKept(draft);
    keepServer(draft);
    setFault("");
    test.reset();
    create.reset();
  };
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (!/^https?:\/\/./i.test(url.trim())) return setFault("Enter an http or https URL, such as https://mcp.example.com/mcp.");
    create.reset();
    void test.run(url.trim());
  };
  const problem = test.error === undefined ? undefined : asProblem(test.error);
  return (
    <Page title="Create a toolset" lead="From an MCP server that exists. Nothing is called before you test it.">
      <Ways />
      <ServerSteps slug={slug} />
      <div className="space-y-5">
        <form onSubmit={submit} noValidate>
          <Card title="MCP server">
            <div className="grid max-w-xl gap-3">
              <TextField
                label="URL of the MCP server"
                type="url"
                autoComplete="off"
                spellCheck={false}
                placeholder="https://mcp.example.com/mcp"
                hint="Streamable HTTP or HTTP with SSE: which one, and which revision, is found out."
                error={fault || undefined}
                value={url}
                onChange={(e) => enter(e.target.value)}
              />
            </div>
            <div className="mt-4">
              <Button type="submit" kind={test.done || slug ? "plain" : "primary"} busy={test.busy}>
                Test Connection
              </Button>
            </div>
          </Card>
        </form>
        {test.busy || test.steps.length > 0 ? <ConnectionSteps steps={test.steps} /> : null}
        {test.done ? <Found connection={test.done} /> : null}
        {problem && !test.wants ? <ProblemNote error={problem} /> : null}
        {problem?.reason === "blocked_address" ? <PrivateServer url={url.trim()} /> : null}
        {problem && test.wants ? (
          <p className="rounded-lg border border-line bg-warn-soft px-4 py-2.5 break-words text-warn">The server wants authentication before it says more. {problem.detail}.</p>
        ) : null}
        {create.isError ? <ProblemNote error={create.error} /> : null}
        <div className="flex flex-wrap items-center justify-end gap-3">
          <p role="status" className="text-muted">
            {create.isPending ? phase || "Reading the server" : slug ? `The draft ${slug} was made of it.` : ""}
          </p>
          {slug ? (
            <Link to="/toolsets/new/$slug/review" params={{ slug }} className={buttonClass("primary")}>
              Continue
            </Link>
          ) : test.wants ? (
            <Link to="/toolsets/new/mcp-authentication" className={buttonClass("primary")}>
              Continue with authentication
            </Link>
          ) : test.done ? (
            <>
              <Link to="/toolsets/new/mcp-authentication" className={buttonClass()}>
                Set a credential
              </Link>
              <Button kind="primary" busy={create.isPending} onClick={() => create.mutate()}>
                Continue with {plural(test.done.tools.filter((t) => !t.unsupported).length, "tool")}
              </Button>
            </>
          ) : null}
        </div>
      </div>
      <CommandLine command={`sluice mcp test ${shellWord(url.trim() || "https://mcp.example.com/mcp")}`} />
    </Page>
  );
}

function Found({ connection: c }: { connection: Connection }) {
  const refused = c.tools.filter((t) => t.unsupported);
  return (
    <Card title={c.title || c.name || "The server"}>
      <dl>
        <Fact name="Version">{c.version || "not told"}</Fact>
        <Fact name="Protocol">
          MCP {c.protocolVersion} over {c.transport === "sse" ? "HTTP with SSE" : "Streamable HTTP"}
        </Fact>
        <Fact name="Tools">{plural(c.tools.length - refused.length, "tool")}</Fact>
        {c.items ? (
          <Fact name="Besides">
            {plural(c.items.prompts, "prompt")}, {plural(c.items.resources + c.items.resourceTemplates, "resource")}
          </Fact>
        ) : null}
        <Fact name="Time">{milliseconds(c.seconds * 1000)}</Fact>
      </dl>
      {refused.length > 0 || c.warnings?.length ? (
        <ul className="mt-3 list-disc space-y-1 pl-5">
          {refused.map((t) => (
            <li key={t.name} className="break-words">
              <code className="font-mono">{t.name}</code> cannot be served: {t.unsupported}
            </li>
          ))}
          {c.warnings?.slice(0, 20).map((d) => (
            <li key={`${d.code}${d.pointer}${d.detail}`} className="break-words">
              {d.detail}
              {d.remedy ? `. ${d.remedy}` : ""}
            </li>
          ))}
        </ul>
      ) : null}
    </Card>
  );
}

/** Why the node did not connect to an address of its own network, and the way to permit it. */
const PrivateServer = ({ url }: { url: string }) => (
  <p className="rounded-lg border border-line bg-warn-soft px-4 py-2.5 break-words text-warn">
    <code className="font-mono break-all">{url}</code> is in a private network, where other things answer too: a toolset could reach what only the node may. It is refused unless it is granted. An operator of
    this node who enters the address here grants it for the toolset; all of them are allowed by starting the node with <code className="font-mono">--allow-private-upstreams</code>. Link-local addresses, at which clouds keep their
    credentials, are called only where that option names them.
  </p>
);
