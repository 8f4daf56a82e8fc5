import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { Dialog } from "../components/dialog";
import { toolsetsQuery } from "../lib/queries";
import { places, readSingleKeys, shortcutReader, writeSingleKeys, type Place, type Wish } from "../lib/shortcuts";

/** So many entries are shown: more words find the others. */
const SHOWN = 12;

const typed = (target: EventTarget | null) =>
  target instanceof HTMLInputElement ? !["checkbox", "radio", "button", "file"].includes(target.type) : target instanceof HTMLElement && (target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName));

/** The command menu, the list of shortcuts, and what the shortcuts do. */
export function Menu({ editor }: { editor: boolean }) {
  const [open, setOpen] = useState<"menu" | "help" | null>(null);
  const [single, setSingle] = useState(readSingleKeys);
  const navigate = useNavigate();

  useEffect(() => {
    const read = shortcutReader();
    const act = (wish: Wish) => {
      if ("to" in wish) void navigate({ to: wish.to });
      else if ("create" in wish) void navigate({ to: "/toolsets/new" });
      else if ("help" in wish) setOpen("help");
      else if ("menu" in wish) setOpen("menu");
      else {
        const field = document.querySelector<HTMLInputElement>("main input[type=search]");
        if (field) field.focus();
        else setOpen("menu");
      }
    };
    const press = (event: globalThis.KeyboardEvent) => {
      const modal = document.querySelector("dialog[open]") !== null;
      const wish = read(event, typed(event.target) || modal, single);
      if (!wish || modal || ("create" in wish && !editor)) return;
      event.preventDefault();
      act(wish);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [navigate, single, editor]);

  // One of the two that gives way to the other tells that it is closed after that.
  const close = (which: "menu" | "help") => () => setOpen((now) => (now === which ? null : now));
  return (
    <>
      <button
        type="button"
        className="flex min-h-8 items-center justify-between gap-3 rounded-md border border-line-strong bg-surface px-2.5 text-left text-muted hover:text-text"
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => setOpen("menu")}
      >
        Go to <kbd className="font-mono text-[0.86rem] max-md:hidden">Ctrl K</kbd>
      </button>
      <Dialog title="Go to" open={open === "menu"} onClose={close("menu")}>
        <Entries editor={editor} close={close("menu")} help={() => setOpen("help")} />
      </Dialog>
      <Dialog title="Keyboard shortcuts" open={open === "help"} onClose={close("help")}>
        <Shortcuts
          single={single}
          onSingle={(on) => {
            setSingle(on);
            writeSingleKeys(on);
          }}
        />
      </Dialog>
    </>
  );
}

interface Entry {
  id: string;
  name: string;
  note: string;
  run: () => void;
}

/** What a word finds: pages, toolsets, and what can be made. */
function Entries({ editor, close, help }: { editor: boolean; close: () => void; help: () => void }) {
  const [word, setWord] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const navigate = useNavigate();
  const toolsets = useInfiniteQuery(toolsetsQuery).data?.pages.flatMap((p) => p.items) ?? [];

  const page = (to: Place, name: string): Entry => ({ id: to, name, note: "Page", run: () => void navigate({ to }) });
  const all: Entry[] = [
    ...places.map((p) => page(p.to, p.name)),
    ...(editor ? [{ id: "create", name: "Create toolset", note: "Wizard", run: () => void navigate({ to: "/toolsets/new" }) }] : []),
    ...(editor ? [{ id: "create-mcp", name: "Create toolset from an MCP server", note: "Wizard", run: () => void navigate({ to: "/toolsets/new/mcp" }) }] : []),
    { id: "reference", name: "API reference", note: "Page", run: () => void navigate({ to: "/reference" }) },
    { id: "audit", name: "Audit log", note: "Settings", run: () => void navigate({ to: "/settings/audit" }) },
    { id: "shortcuts", name: "Keyboard shortcuts", note: "Help", run: help },
    ...toolsets.map((t) => ({ id: t.id, name: t.name, note: `Toolset ${t.slug}`, run: () => void navigate({ to: "/toolsets/$slug", params: { slug: t.slug } }) })),
    ...toolsets.map((t) => ({ id: `${t.id}-play`, name: `Call ${t.name}`, note: "Playground", run: () => void navigate({ to: "/playground", search: { toolset: t.slug } }) })),
  ];
  const words = word.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.filter((e) => words.every((w) => `${e.name} ${e.note}`.toLowerCase().includes(w))).slice(0, SHOWN);
  const chosen = Math.min(at, found.length - 1);
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    close();
    entry.run();
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && found.length > 0) {
      event.preventDefault();
      const next = (chosen + step + found.length) % found.length;
      setAt(next);
      list.current?.children[next]?.scrollIntoView({ block: "nearest" });
    }
    if (event.key === "Enter") {
      event.preventDefault();
      run(found[chosen]);
    }
  };
  return (
    <>
      <input
        type="text"
        role="combobox"
        aria-label="A page or a toolset"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={found[chosen] ? `${id}-${chosen}` : undefined}
        aria-autocomplete="list"
        autoComplete="off"
        spellCheck={false}
        placeholder="letters of its name"
        className="min-h-8 w-full rounded-md border border-line-strong bg-surface px-2.5 py-1 text-text placeholder:text-muted"
        value={word}
        onChange={(e) => {
          setWord(e.target.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <div ref={list} id={`${id}-list`} role="listbox" aria-label="Found" className="mt-2 max-h-80 overflow-y-auto">
        {found.map((e, i) => (
          <button
            key={e.id}
            type="button"
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === chosen}
            tabIndex={-1}
            className={`flex min-h-8 w-full flex-wrap items-center justify-between gap-x-3 rounded-md border border-transparent px-2.5 text-left ${i === chosen ? "bg-accent-soft forced-colors:border-[Highlight]" : "hover:bg-sunken"}`}
            onClick={() => run(e)}
          >
            <span className="min-w-0 break-words">{e.name}</span>
            <span className="min-w-0 break-words text-muted">{e.note}</span>
          </button>
        ))}
      </div>
      <p role="status" className="text-muted">{found.length === 0 ? "Nothing is called so." : ""}</p>
    </>
  );
}

const keys: { keys: string; does: string }[] = [
  { keys: "Ctrl K, ⌘ K", does: "Go to a page or a toolset" },
  ...places.map((p) => ({ keys: `g ${p.key}`, does: p.name })),
  { keys: "c", does: "Create toolset" },
  { keys: "/", does: "Search on this page" },
  { keys: "?", does: "Show this list" },
];

function Shortcuts({ single, onSingle }: { single: boolean; onSingle: (on: boolean) => void }) {
  return (
    <>
      <dl>
        {keys.map((k) => (
          <div key={k.keys} className="flex justify-between gap-x-4 border-b border-line py-1 last:border-0">
            <dt>
              <kbd className="font-mono">{k.keys}</kbd>
            </dt>
            <dd className={single || k.keys.includes("K") ? "" : "text-muted line-through"}>{k.does}</dd>
          </div>
        ))}
      </dl>
      <label className="mt-3 flex min-h-6 items-center gap-2">
        <input type="checkbox" className="size-4 accent-(--accent)" checked={single} onChange={(e) => onSingle(e.target.checked)} />
        Single keys do something (those without Ctrl or ⌘)
      </label>
    </>
  );
}
