import { useState } from "react";
import { Button } from "../../components/button";
import { TextArea, TextField } from "../../components/field";
import { readArguments } from "./form";
import { ToolPicker } from "./picker";

/** A call of a batch, as it is written. */
export interface Written {
  tool: string;
  /** A JSON object; empty: none. */
  args: string;
  id: string;
}

/** How many calls a batch has at most. */
const MOST = 20;
const none: Written = { tool: "", args: "", id: "" };

/** The calls of a JSON list; one that is still to be written, where it is not a list. */
export function callsOf(text: string): Written[] {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return [none];
  }
  if (!Array.isArray(list) || list.length === 0) return [none];
  return list.map((one: unknown) => {
    const c = (typeof one === "object" && one !== null ? one : {}) as Record<string, unknown>;
    return { tool: typeof c.tool === "string" ? c.tool : "", args: c.arguments === undefined ? "" : JSON.stringify(c.arguments), id: typeof c.id === "string" ? c.id : "" };
  });
}

/** The calls as a JSON list; undefined: one of them is not whole. */
export function writtenCalls(calls: Written[]): string | undefined {
  const list: unknown[] = [];
  for (const c of calls) {
    const args = c.args.trim() ? readArguments(c.args) : undefined;
    if (!c.tool || (c.args.trim() && !args)) return undefined;
    list.push({ tool: c.tool, ...(args ? { arguments: args } : {}), ...(c.id ? { id: c.id } : {}) });
  }
  return JSON.stringify(list);
}

interface Props {
  names: string[];
  loading: boolean;
  value: string;
  error?: string;
  /** The list as JSON; not JSON while a call is not whole. */
  onChange: (text: string) => void;
}

/** The calls of a batch: a tool, and its arguments. */
export function CallsField({ names, loading, value, error, onChange }: Props) {
  const [calls, setCalls] = useState(() => callsOf(value).map((c, key) => ({ ...c, key })));
  const [next, setNext] = useState(calls.length);
  const change = (list: typeof calls) => {
    setCalls(list);
    onChange(writtenCalls(list) ?? "…");
  };
  const edit = (key: number, part: Partial<Written>) => change(calls.map((c) => (c.key === key ? { ...c, ...part } : c)));
  return (
    <fieldset className="space-y-3">
      <legend className="mb-1 font-medium">calls (required)</legend>
      {calls.map((c, i) => (
        <div key={c.key} className="space-y-2 rounded-md border border-line p-3">
          <ToolPicker label={`Tool of call ${i + 1}`} names={names} loading={loading} value={c.tool} onChoose={(tool) => edit(c.key, { tool })} />
          <TextArea
            label={`Arguments of call ${i + 1}, as JSON`}
            spellCheck={false}
            placeholder="{}"
            value={c.args}
            error={c.args.trim() && !readArguments(c.args) ? "Write a JSON object." : undefined}
            onChange={(e) => edit(c.key, { args: e.target.value })}
          />
          <div className="flex flex-wrap items-end gap-2">
            <div className="min-w-32 flex-1">
              <TextField label={`Name of answer ${i + 1}`} autoComplete="off" placeholder={String(i + 1)} value={c.id} onChange={(e) => edit(c.key, { id: e.target.value })} />
            </div>
            {calls.length > 1 ? (
              <Button onClick={() => change(calls.filter((other) => other.key !== c.key))} aria-label={`Remove call ${i + 1}`}>
                Remove
              </Button>
            ) : null}
          </div>
        </div>
      ))}
      {error ? <p className="text-bad">Choose the tool of each call, and write its arguments as a JSON object.</p> : null}
      <Button
        disabled={calls.length >= MOST}
        onClick={() => {
          change([...calls, { ...none, key: next }]);
          setNext(next + 1);
        }}
      >
        Add a call
      </Button>
    </fieldset>
  );
}
