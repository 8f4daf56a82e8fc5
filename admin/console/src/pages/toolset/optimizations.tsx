import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Choices, Switch } from "../../components/choices";
import { CommandLine } from "../../components/copy";
import { TextArea, TextField } from "../../components/field";
import { Card } from "../../components/page";
import { ProblemNote } from "../../components/problem";
import { SaveForm } from "../../components/saveform";
import { api, unwrap, type Schemas } from "../../lib/api";
import { useEdits } from "../../lib/edits";
import { shellWord } from "../../lib/clients";
import { count, plural, saved } from "../../lib/format";
import { wholeNumber } from "../../lib/number";
import { Problem } from "../../lib/problem";
import { selectionQuery, toolsetQuery } from "../../lib/queries";
import { useCan } from "../../lib/session";
import { useSettled } from "../../lib/settled";
import { usageOf } from "../analytics/queries";
import { LearnedSearches } from "./learned";
import { usePatch } from "./patch";
import { profiles } from "./profiles";
import { ToolSettings } from "./toolsettings";

type Toolset = Schemas["ToolsetDetail"];

/** What the form is about; numbers as they are written, empty for the default. */
interface Fields {
  profile: Toolset["profile"];
  tokenBudget: string;
  cacheSeconds: string;
  selection: Toolset["selection"];
  purpose: string;
  batch: boolean;
  scriptsMayDestroy: boolean;
  learn: boolean;
}

const names: Record<keyof Fields, string> = {
  profile: "Profile",
  tokenBudget: "Token budget of an answer",
  cacheSeconds: "Seconds that answers are kept",
  selection: "Tools that agents list",
  purpose: "What the toolset is for",
  batch: "Many calls at once",
  scriptsMayDestroy: "Scripts may destroy data",
  learn: "Learn from searches",
};

const fieldsOf = (t: Toolset): Fields => ({
  profile: t.profile,
  tokenBudget: t.answers?.tokenBudget ? String(t.answers.tokenBudget) : "",
  cacheSeconds: t.cache?.ttlSeconds ? String(t.cache.ttlSeconds) : "",
  selection: t.selection,
  purpose: t.useCase ?? "",
  batch: t.batch ?? false,
  scriptsMayDestroy: t.scriptsMayDestroy ?? false,
  learn: t.learn ?? false,
});

const patchOf = ({ tokenBudget, cacheSeconds, purpose, ...rest }: Partial<Fields>): Schemas["PatchToolset"] => ({
  ...rest,
  ...(purpose === undefined ? {} : { useCase: purpose }),
  ...(tokenBudget === undefined ? {} : { answers: { tokenBudget: Number(tokenBudget) } }),
  ...(cacheSeconds === undefined ? {} : { cache: { ttlSeconds: Number(cacheSeconds) } }),
});

/** The command that makes the changes; without changes the one that shows what is set. */
function commandOf(slug: string, c: Partial<Fields>): string {
  const flag = (name: string, value: string | undefined) => (value === undefined ? "" : ` --${name} ${value}`);
  const onOff = (value: boolean | undefined) => (value === undefined ? undefined : value ? "on" : "off");
  return (
    `sluice toolset optimize ${slug}` +
    flag("profile", c.profile) +
    flag("budget", c.tokenBudget === "" ? "0" : c.tokenBudget) +
    flag("cache", c.cacheSeconds === "" ? "0" : c.cacheSeconds) +
    flag("selection", c.selection) +
    flag("use-case", c.purpose === undefined ? undefined : shellWord(c.purpose)) +
    flag("batch", onOff(c.batch)) +
    flag("scripts-may-destroy", onOff(c.scriptsMayDestroy)) +
    flag("learn", onOff(c.learn))
  );
}

export function Optimizations() {
  const { slug } = useParams({ from: "/toolsets/$slug" });
  const toolset = useQuery(toolsetQuery(slug));
  if (!toolset.data) return null; // The layout says why.
  return <Form key={slug} toolset={toolset.data.data} etag={toolset.data.etag} />;
}

function Form({ toolset: t, etag }: { toolset: Toolset; etag: string }) {
  const editor = useCan("editor");
  const stored = fieldsOf(t);
  const edits = useEdits(stored, etag);
  const { values, enter, changed } = edits;
  const save = usePatch(t.slug, edits, patchOf);
  const bad = {
    tokenBudget: wholeNumber(values.tokenBudget, -1, 2_000_000),
    cacheSeconds: wholeNumber(values.cacheSeconds, 0, 86_400),
    purpose: values.selection === "use-case" && !values.purpose.trim() ? "Say what the toolset is for." : undefined,
  };
  const scripted = values.selection === "code" || values.batch;
  return (
    <div className="space-y-5">
      <SaveForm
        label="Optimizations"
        legend="What is set"
        stored={stored}
        edits={edits}
        names={names}
        bad={bad}
        save={save}
        before="A change makes a new draft: what is live stays until the draft is tested."
        after="Saved in the draft."
      >
        <Card title="Answers" actions={<Measured slug={t.slug} />}>
          <div className="grid gap-x-8 gap-y-4 lg:grid-cols-2">
            <Choices
              label="Profile"
              value={values.profile}
              onValue={(profile) => enter({ profile })}
              choices={profiles}
            />
            <div className="max-w-sm space-y-4">
              <TextField
                label={names.tokenBudget}
                inputMode="numeric"
                placeholder="20000"
                hint="A longer answer is cut at whole items, and the agent can fetch the rest. -1: no budget."
                error={bad.tokenBudget}
                value={values.tokenBudget}
                onChange={(e) => enter({ tokenBudget: e.target.value.trim() })}
              />
              <TextField
                label={names.cacheSeconds}
                inputMode="numeric"
                placeholder="0"
                hint="Answers of tools that only read are given again for so long."
                error={bad.cacheSeconds}
                value={values.cacheSeconds}
                onChange={(e) => enter({ cacheSeconds: e.target.value.trim() })}
              />
            </div>
          </div>
        </Card>
        <Card title="The list of tools">
          <div className="grid gap-x-8 gap-y-4 lg:grid-cols-2">
            <Selection slug={t.slug} value={values.selection} onValue={(selection) => enter({ selection })} />
            <div className="space-y-4">
              <TextArea
                label={names.purpose}
                hint="A sentence for each task, such as: Refund an order. Answer a customer."
                error={bad.purpose}
                maxLength={4096}
                value={values.purpose}
                onChange={(e) => enter({ purpose: e.target.value })}
              />
              {editor ? <Ranked slug={t.slug} purpose={values.purpose} /> : null}
              <Switch label={names.batch} note="A tool that makes many calls at once is listed too." checked={values.batch} onChecked={(batch) => enter({ batch })} />
              {scripted || values.scriptsMayDestroy ? (
                <Switch
                  label={names.scriptsMayDestroy}
                  note="Scripts and batches may call tools that may destroy data."
                  checked={values.scriptsMayDestroy}
                  onChecked={(scriptsMayDestroy) => enter({ scriptsMayDestroy })}
                />
              ) : null}
              {values.selection === "search" || values.learn ? (
                <Switch
                  label={names.learn}
                  note="Searches that a successful call follows, redacted, become examples of its tool."
                  checked={values.learn}
                  onChecked={(learn) => enter({ learn })}
                />
              ) : null}
            </div>
          </div>
        </Card>
      </SaveForm>
      <LearnedSearches slug={t.slug} />
      <ToolSettings slug={t.slug} />
      <CommandLine command={commandOf(t.slug, changed)} />
    </div>
  );
}

/** What it saved so far. */
function Measured({ slug }: { slug: string }) {
  const usage = useQuery(usageOf("7d", slug, "tool"));
  const totals = usage.data?.totals;
  if (!totals) return null;
  return (
    <span className="text-muted tabular-nums">
      {totals.tokensBefore > 0
        ? `Last 7 days: ${count(totals.tokensBefore)} → ${count(totals.tokensAfter)} tokens (${saved(totals.tokensBefore, totals.tokensAfter)})`
        : "No calls in the last 7 days"}
    </span>
  );
}

function Selection({ slug, value, onValue }: { slug: string; value: Fields["selection"]; onValue: (value: Fields["selection"]) => void }) {
  const selection = useQuery(selectionQuery(slug));
  const advice = selection.data?.advice;
  const cost = (mode: Schemas["SelectionMode"] | undefined) => (mode ? ` ${plural(mode.tools, "tool")}, about ${plural(mode.tokens, "token")}.` : "");
  return (
    <div>
      <Choices
        label={names.selection}
        value={value}
        onValue={onValue}
        choices={[
          { value: "all", name: "All tools", note: `Right for a small toolset.${cost(advice?.all)}` },
          { value: "use-case", name: "Those of a use case", note: `The tools that serve what you write beside this.${cost(advice?.useCase)}` },
          { value: "search", name: "Found by search", note: `Agents list a few tools and find the others by words.${cost(advice?.search)}` },
          { value: "code", name: "Called from scripts", note: `Agents write scripts that call the tools.${cost(advice?.code)}` },
        ]}
      />
      {advice ? <p className="mt-2 text-muted">Advised: {{ all: "all tools", "use-case": "those of the use case", search: "found by search" }[advice.recommended]}, since {advice.reason}.</p> : null}
      {selection.isError ? <ProblemNote error={selection.error} retry={() => void selection.refetch()} /> : null}
    </div>
  );
}

/** So many tools of a use case are shown. */
const SHOWN = 12;

/** The tools that a use case would list, while it is written. */
function Ranked({ slug, purpose }: { slug: string; purpose: string }) {
  const text = useSettled(purpose.trim());
  const chosen = useQuery({
    queryKey: ["toolset", slug, "selection", text],
    queryFn: () => unwrap(api.POST("/v1/toolsets/{id}/selection/preview", { params: { path: { id: slug } }, body: { useCase: text } })),
    enabled: text !== "",
    retry: false,
    placeholderData: (before) => before,
  });
  if (!text) return null;
  if (chosen.error instanceof Problem && chosen.error.status < 500) return <p role="status" className="text-warn">{chosen.error.detail || chosen.error.title}</p>;
  if (chosen.isError) return <ProblemNote error={chosen.error} retry={() => void chosen.refetch()} />;
  const tools = chosen.data?.tools ?? [];
  return (
    <div role="status">
      <p className="text-muted">{chosen.data ? `It lists ${plural(tools.length, "tool")}:` : "Searching"}</p>
      <ol className="mt-1 list-decimal pl-6">
        {tools.slice(0, SHOWN).map((tool) => (
          <li key={tool.name} className="break-words">
            <code className="font-mono">{tool.name}</code>
            <span className="text-muted">{tool.neededBy ? `, needed by ${tool.neededBy}` : tool.clause ? `, for “${tool.clause}”` : ""}</span>
          </li>
        ))}
      </ol>
      {tools.length > SHOWN ? <p className="text-muted">and {count(tools.length - SHOWN)} more</p> : null}
    </div>
  );
}
