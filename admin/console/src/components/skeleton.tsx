/** Where rows will be: as high as they are, so that nothing moves when they come. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  return (
    <div role="status" className="divide-y divide-line rounded-lg border border-line bg-surface">
      <span className="sr-only">Loading</span>
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className="flex h-11 items-center gap-6 px-4">
          <span className="h-3 w-1/4 animate-pulse rounded bg-sunken" />
          <span className="h-3 w-1/6 animate-pulse rounded bg-sunken" />
        </div>
      ))}
    </div>
  );
}
