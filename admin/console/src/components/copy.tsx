import { Check, Copy as CopyIcon } from "lucide-react";
import { useEffect, useState } from "react";

/** Copies text; what it says changes for two seconds. */
export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [state, setState] = useState<"" | "copied" | "failed">("");
  useEffect(() => {
    if (!state) return;
    const timer = setTimeout(() => setState(""), 2000);
    return () => clearTimeout(timer);
  }, [state]);

  const copy = () => {
    if (!navigator.clipboard) return setState("failed");
    navigator.clipboard.writeText(text).then(
      () => setState("copied"),
      () => setState("failed"),
    );
  };
  const said = state === "copied" ? "Copied" : state === "failed" ? "Select and copy it yourself" : "";
  const Icon = state === "copied" ? Check : CopyIcon;
  return (
    <button type="button" onClick={copy} className="inline-flex min-h-7 shrink-0 items-center gap-1 rounded px-1.5 text-muted hover:bg-accent-soft hover:text-text" title={label}>
      <Icon aria-hidden size={14} />
      <span className="sr-only">{label}</span>
      <span role="status" className={said ? "text-xs" : "sr-only"}>
        {said}
      </span>
    </button>
  );
}

/** Text to take elsewhere: a command, an address, a configuration. */
export function CodeBlock({ text, label, low = false }: { text: string; label: string; /** A long text scrolls in its block. */ low?: boolean }) {
  return (
    <div className="flex items-start gap-2 rounded-md border border-line bg-sunken py-1 pr-1 pl-3">
      {/* Focusable, because a wide text scrolls. */}
      <pre tabIndex={0} className={`min-w-0 flex-1 py-1 font-mono text-[0.9rem] ${low ? "max-h-[32rem] overflow-auto" : "overflow-x-auto"}`} aria-label={label} role="region">
        <code>{text}</code>
      </pre>
      <Copy text={text} label={`Copy ${label}`} />
    </div>
  );
}

/** A command below what it is about. */
export function CopyLine({ command }: { command: string }) {
  return (
    <p className="mt-1 flex items-center gap-1">
      <code className="min-w-0 font-mono text-[0.9rem] break-words">{command}</code>
      <Copy text={command} label={`Copy ${command}`} />
    </p>
  );
}

/** The command that does what the page does. */
export function CommandLine({ command }: { command: string }) {
  return (
    <footer className="mt-8 flex flex-wrap items-center gap-x-2 gap-y-1 border-t border-line pt-3 text-muted">
      <span>The same in a terminal:</span>
      <code className="min-w-0 font-mono text-[0.9rem] break-words text-text">{command}</code>
      <Copy text={command} label="Copy the command" />
    </footer>
  );
}
