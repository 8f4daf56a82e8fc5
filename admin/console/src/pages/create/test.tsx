import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useId, useState, type FormEvent } from "react";
import { Button } from "../../components/button";
import { CodeBlock, CommandLine } from "../../components/copy";
import { TextField } from "../../components/field";
import { Card, Fact } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { Badge } from "../../components/status";
import { api, unwrap, type Schemas } from "../../lib/api";
import { count, milliseconds, saved } from "../../lib/format";
import { finish } from "../../lib/jobs";
import { toolsetQuery, toolsQuery } from "../../lib/queries";
import { can } from "../../lib/roles";
import { sessionQuery } from "../../lib/session";
import { Next } from "./steps";

/** The arguments that were written; undefined: that is not a JSON object. */
function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

export function Test() {
  const { slug } = useParams({ from: "/toolsets/new/$slug" });
  const toolset = useQuery(toolsetQuery(slug));
  const mcp = toolset.data?.data.source.kind === "mcp";
  const tools = useInfiniteQuery(toolsQuery(slug));
  const list = useId();
  const [tool, setTool] = useState("");
  const [text, setText] = useState("");
  const [fault, setFault] = useState("");
  const [phase, setPhase] = useState("");
  const navigate = useNavigate();
  const queries = useQueryClient();

  const test = useMutation({
    mutationFn: (body: Schemas["TestRequest"]) => finish<Schemas["TestAnswer"]>(api.POST("/v1/toolsets/{id}/test", { params: { path: { id: slug } }, body }), setPhase),
    onSettled: () => queries.invalidateQueries(),
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const given = text.trim() ? parse(text) : undefined;
    if (text.trim() && !given) return setFault("Write a JSON object, such as {\"id\": 1}.");
    if (given && !tool.trim()) return setFault("Arguments are those of one tool: choose it first.");
    setFault("");
    setPhase("");
    test.mutate({ ...(tool.trim() ? { tool: tool.trim() } : {}), ...(given ? { arguments: given } : {}) });
  };
  const names = tools.data?.pages.flatMap((p) => p.items).filter((t) => t.enabled) ?? [];
  return (
    <div className="space-y-5">
      <form onSubmit={submit} noValidate>
        <Card title="Call one tool for real">
          <div className="grid max-w-xl gap-3">
            <TextField
              label="Tool"
              list={list}
              autoComplete="off"
              spellCheck={false}
              placeholder="the first that only reads"
              hint={mcp ? "Left empty, one is taken that only reads, as the server claims; without one, its list of tools is read again." : "Left empty, one is taken that changes nothing and whose arguments are known."}
              value={tool}
              onChange={(e) => setTool(e.target.value)}
            />
            <datalist id={list}>
              {names.map((t) => (
                <option key={t.name}>{t.name}</option>
              ))}
            </datalist>
            <TextField label="Arguments, as JSON" autoComplete="off" spellCheck={false} placeholder="{}" error={fault || undefined} value={text} onChange={(e) => setText(e.target.value)} />
          </div>
          <div className="mt-4 flex flex-wrap items-center gap-3">
            <Button type="submit" kind="primary" busy={test.isPending}>
              Run the test
            </Button>
            <p role="status" className="text-muted">
              {test.isPending ? phase || mcp ? "Calling the server" : "Calling the API" : "When it passes, the toolset is deployed."}
            </p>
          </div>
        </Card>
      </form>
      {test.isError ? <ProblemNote error={test.error} /> : null}
      {test.data ? <Outcome slug={slug} run={test.data} mcp={mcp} /> : null}
      {test.data && isBlocked(test.data) ? <PrivateAddress slug={slug} baseUrl={test.data.toolset.baseUrl} onAllowed={() => test.mutate(test.variables)} /> : null}
      {test.isError || (test.data && !test.data.passed) ? <Untested slug={slug} /> : null}
      <Next back={mcp ? "/toolsets/new/$slug/review" : "/toolsets/new/$slug/names"} slug={slug}>
        {test.data?.deployed ? (
          <Button kind="primary" onClick={() => void navigate({ to: "/toolsets/new/$slug/live", params: { slug } })}>
            Connect an application
          </Button>
        ) : null}
      </Next>
      <CommandLine command={`sluice toolset test ${slug}`} />
    </div>
  );
}

function Outcome({ slug, run, mcp }: { slug: string; run: Schemas["TestAnswer"]; mcp: boolean }) {
  const refused = run.upstreamStatus === 401 || run.upstreamStatus === 403;
  return (
    <Card title="Result" actions={run.passed ? <Badge tone="ok">{run.deployed ? "Passed, deployed" : "Passed"}</Badge> : <Badge tone="bad">Failed</Badge>}>
      <div role="status">
        {run.reason ? <p className="mb-2 break-words">{run.reason}</p> : null}
        {refused ? (
          <p className="mb-2">
            <Link to="/toolsets/new/$slug/authentication" params={{ slug }} className="text-accent underline">
              {run.credentialVersion > 0 ? "Correct the credential" : "Enter a credential"}
            </Link>
          </p>
        ) : null}
        {!run.passed && !run.upstreamStatus && run.tool && !isBlocked(run) ? (
          <p className="mb-2">
            No answer came.{" "}
            <Link to="/toolsets/new/$slug/review" params={{ slug }} className="text-accent underline">
              Correct the address that calls are sent to
            </Link>
          </p>
        ) : null}
      </div>
      <dl>
        {run.tool ? <Fact name="Tool"><code className="font-mono break-all">{run.tool}</code></Fact> : null}
        {run.upstreamStatus ? <Fact name={mcp ? "Answer of the server" : "Answer of the API"}>HTTP {run.upstreamStatus}</Fact> : null}
        <Fact name="Duration">{milliseconds(run.durationSeconds * 1000)}</Fact>
        {run.tokens.received > 0 ? (
          <Fact name="Tokens">
            {count(run.tokens.received)} → {count(run.tokens.result)} ({saved(run.tokens.received, run.tokens.result)})
          </Fact>
        ) : null}
      </dl>
      {run.answer ? (
        <div className="mt-3">
          <p className="mb-1 text-muted">What an agent receives{run.answerCut ? ", its beginning" : ""}:</p>
          <CodeBlock label="the answer" text={run.answer} />
        </div>
      ) : null}
    </Card>
  );
}

/** Whether a grant would help: what was refused says how to make one. */
const isBlocked = (run: Schemas["TestAnswer"]) => !run.passed && `${run.reason ?? ""} ${run.answer ?? ""}`.includes("sluice grant create");

/** Why the node did not call a machine of its own network, and the way to permit it. */
function PrivateAddress({ slug, baseUrl, onAllowed }: { slug: string; baseUrl: string; onAllowed: () => void }) {
  const session = useQuery(sessionQuery);
  const allow = useMutation({
    mutationFn: () => unwrap(api.POST("/v1/grants", { body: { toolset: slug, address: baseUrl, reason: "allowed in the console when it was created" } })),
    onSuccess: onAllowed,
  });
  const operator = session.data?.workspace.operator && can(session.data.role, "admin");
  return (
    <Card title="A private address">
      <p className="mb-3 break-words">
        {baseUrl} is in the network of this node, where other things answer too. Nothing there is called before an operator permits it, for one toolset and one address.
      </p>
      {operator ? (
        <Button busy={allow.isPending} onClick={() => allow.mutate()}>
          Allow this address and test again
        </Button>
      ) : (
        <p>
          Ask the operator of this node: <code className="font-mono break-all">{`sluice grant create ${slug} ${baseUrl}`}</code>
        </p>
      )}
      {allow.isError ? (
        <div className="mt-3">
          <ProblemNote error={allow.error} />
        </div>
      ) : null}
    </Card>
  );
}

/** The way on where nothing can be tested. The reason is kept in the audit log. */
function Untested({ slug }: { slug: string }) {
  const session = useQuery(sessionQuery);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [reason, setReason] = useState("");
  const deploy = useMutation({
    mutationFn: async () => {
      const { etag } = await queries.fetchQuery({ ...toolsetQuery(slug), staleTime: 0 });
      return unwrap(api.POST("/v1/toolsets/{id}/deploy", { params: { path: { id: slug }, header: { "If-Match": etag } }, body: { reason: reason.trim() } }));
    },
    onSuccess: async () => {
      await queries.invalidateQueries();
      await navigate({ to: "/toolsets/new/$slug/live", params: { slug } });
    },
  });
  if (!can(session.data?.role, "admin")) return null;
  return (
    <Card title="Deploy without a test">
      <form
        noValidate
        className="flex max-w-xl flex-wrap items-end gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          if (reason.trim()) deploy.mutate();
        }}
      >
        <div className="min-w-0 flex-1">
          <TextField label="Reason, for the audit log" value={reason} onChange={(e) => setReason(e.target.value)} />
        </div>
        <Button type="submit" kind="danger" busy={deploy.isPending} disabled={!reason.trim()}>
          Deploy untested
        </Button>
      </form>
      {deploy.isError ? (
        <div className="mt-3">
          <ProblemNote error={deploy.error} />
        </div>
      ) : null}
    </Card>
  );
}
