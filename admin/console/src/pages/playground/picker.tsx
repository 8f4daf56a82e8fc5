import { useEffect, useId, useState } from "react";
import { TextField } from "../../components/field";

const MOST = 8;

/** How well a name fits what was typed: its letters in their order, close together; undefined: not at all. */
export function fit(name: string, typed: string): number | undefined {
  let at = -1;
  let gaps = 0;
  for (const letter of typed.toLowerCase().replaceAll(/\s/g, "")) {
    const next = name.toLowerCase().indexOf(letter, at + 1);
    if (next < 0) return undefined;
    if (at >= 0) gaps += next - at - 1;
    at = next;
  }
  return gaps + name.length / 1000;
}

interface Props {
  label?: string;
  names: string[];
  /** More names are coming. */
  loading: boolean;
  value: string;
  onChoose: (name: string) => void;
}

/** Finds a tool by letters of its name. */
export function ToolPicker({ label = "Tool", names, loading, value, onChoose }: Props) {
  // What is typed counts until another tool is chosen. Enter before there is a name that fits waits for one.
  const [input, setInput] = useState<{ text: string; of: string; entered: boolean }>();
  const { text: typed, entered } = input?.of === value ? input : { text: undefined, entered: false };
  const list = useId();
  const found =
    typed === undefined
      ? []
      : names
          .map((name) => ({ name, score: fit(name, typed) }))
          .filter((f) => f.score !== undefined)
          .sort((a, b) => (a.score ?? 0) - (b.score ?? 0))
          .slice(0, MOST);
  const choose = (name: string) => {
    setInput(undefined);
    onChoose(name);
  };
  const best = found[0]?.name;
  const awaited = entered && best !== value ? best : undefined;
  useEffect(() => {
    if (awaited !== undefined) onChoose(awaited);
  }, [awaited, onChoose]);
  return (
    <div>
      <TextField
        label={label}
        autoComplete="off"
        spellCheck={false}
        placeholder="letters of its name"
        value={typed ?? value}
        onChange={(e) => setInput({ text: e.target.value, of: value, entered: false })}
        onKeyDown={(e) => {
          if (e.key === "Escape") setInput(undefined);
          if (e.key !== "Enter" || typed === undefined) return;
          e.preventDefault();
          if (best !== undefined) choose(best);
          else setInput({ text: typed, of: value, entered: loading });
        }}
      />
      {typed === undefined ? null : (
        <ul id={list} aria-label={label === "Tool" ? "Tools that fit" : `Tools that fit, ${label}`} className="mt-1 rounded-md border border-line">
          {found.map(({ name }) => (
            <li key={name}>
              <button type="button" className="min-h-7 w-full px-2.5 text-left font-mono text-[0.9rem] break-all hover:bg-sunken" onClick={() => choose(name)}>
                {name}
              </button>
            </li>
          ))}
          {found.length === 0 ? <li className="px-2.5 py-1 text-muted">{loading ? "Reading the tools …" : "No tool fits."}</li> : null}
        </ul>
      )}
    </div>
  );
}
