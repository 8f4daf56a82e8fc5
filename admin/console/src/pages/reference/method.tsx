const looks: Record<string, string> = { GET: "bg-ok-soft text-ok", DELETE: "bg-bad-soft text-bad", POST: "bg-accent-soft text-accent" };

/** The method of an operation. */
export function Method({ method }: { method: string }) {
  return (
    <span className={`inline-block w-15 shrink-0 rounded border border-transparent py-px text-center font-mono text-[0.8rem] font-semibold ${looks[method] ?? "bg-warn-soft text-warn"}`}>
      {method}
    </span>
  );
}
