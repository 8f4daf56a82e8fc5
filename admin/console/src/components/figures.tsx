import type { Schemas } from "../lib/api";
import { milliseconds, percent, saved, short } from "../lib/format";

/** Calls, errors, latency and saved tokens of a range. */
export function Figures({ totals, note = "last 24 hours" }: { totals: Schemas["UsageNumbers"]; note?: string }) {
  const some = totals.calls > 0;
  const figures = [
    { name: "Calls", value: short(totals.calls), note },
    { name: "Errors", value: percent(totals.errors, totals.calls), note: some ? `${short(totals.errors)} of ${short(totals.calls)}` : "no calls yet" },
    { name: "Latency, p95", value: some ? milliseconds(totals.latency.p95Ms) : "–", note: some ? `median ${milliseconds(totals.latency.p50Ms)}` : "no calls yet" },
    {
      name: "Tokens of answers",
      value: saved(totals.tokensBefore, totals.tokensAfter),
      note: totals.tokensBefore > 0 ? `${short(totals.tokensBefore)} → ${short(totals.tokensAfter)}` : "no calls yet",
    },
  ];
  return (
    <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line shadow-card lg:grid-cols-4">
      {figures.map((f) => (
        <div key={f.name} className="min-w-0 bg-surface px-4 py-3">
          <dt className="text-muted">{f.name}</dt>
          <dd>
            <span className="block text-[1.6rem] leading-tight font-semibold tracking-tight tabular-nums">{f.value}</span>
            <span className="text-muted tabular-nums">{f.note}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Where the figures will be. */
export function FiguresSkeleton() {
  return <div role="status" aria-label="Loading" className="h-[11.6rem] animate-pulse rounded-lg border border-line bg-surface lg:h-[6.1rem]" />;
}
