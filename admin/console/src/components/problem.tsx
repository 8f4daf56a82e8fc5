import { AlertTriangle } from "lucide-react";
import { capital } from "../lib/format";
import { asProblem } from "../lib/problem";
import { Button } from "./button";
import { Copy } from "./copy";

/** What went wrong, what to do, and the id of the request in the node's log. */
export function ProblemNote({ error, retry }: { error: unknown; retry?: () => void }) {
  const problem = asProblem(error);
  // A single fault is often what the detail says already, but for its line.
  const only = problem.faults.length === 1 && problem.faults[0]?.detail === problem.detail ? problem.faults[0] : undefined;
  const faults = problem.faults.filter((f) => f.detail !== problem.detail || (f.line && f !== only));
  return (
    <div role="alert" className="rounded-lg border border-bad bg-bad-soft p-4">
      <p className="flex items-center gap-2 font-semibold text-bad">
        <AlertTriangle aria-hidden size={16} className="shrink-0" />
        {problem.title}
      </p>
      {problem.detail ? <p className="mt-1 break-words">{only?.line ? `Line ${only.line}: ${problem.detail}` : capital(problem.detail)}</p> : null}
      {faults.length > 0 ? (
        <ul className="mt-2 list-disc space-y-1 pl-5">
          {faults.map((fault) => (
            <li key={`${fault.pointer}${fault.line}${fault.detail}`} className="break-words">
              {fault.line ? `Line ${fault.line}: ` : ""}
              {fault.line ? fault.detail : capital(fault.detail)}
              {fault.remedy && fault.remedy !== problem.remedy ? `. ${capital(fault.remedy)}` : ""}
            </li>
          ))}
        </ul>
      ) : null}
      {problem.remedy ? <p className="mt-1 break-words">{capital(problem.remedy)}</p> : null}
      <div className="mt-3 flex flex-wrap items-center gap-3">
        {retry ? <Button onClick={retry}>Try again</Button> : null}
        {problem.requestId ? (
          <span className="inline-flex flex-wrap items-center gap-1 text-muted">
            Request <code className="font-mono break-all">{problem.requestId}</code>
            <Copy text={problem.requestId} label="Copy the id of the request" />
          </span>
        ) : null}
      </div>
    </div>
  );
}
