import { useMutation } from "@tanstack/react-query";
import { csv, download, type Row } from "../lib/csv";
import { plural } from "../lib/format";
import { Button } from "./button";
import { ProblemNote } from "./problem";

/** So many rows are in one CSV file. */
const EXPORTED = 10_000;

interface Props<T> {
  file: string;
  /** What a row is: call. */
  one: string;
  names: string[];
  row: (item: T) => Row;
  page: (cursor: string) => Promise<{ items: T[]; nextCursor?: string | undefined }>;
}

/** Saves what a list has with its filter, page by page. */
export function SaveCSV<T>({ file, one, names, row, page }: Props<T>) {
  const save = useMutation({
    mutationFn: async () => {
      const all: T[] = [];
      let cursor = "";
      do {
        const next = await page(cursor);
        all.push(...next.items);
        cursor = next.nextCursor ?? "";
      } while (cursor && all.length < EXPORTED);
      download(file, csv(names, all.map(row)));
      return { rows: all.length, more: cursor !== "" };
    },
  });
  return (
    <span className="flex flex-wrap items-center gap-3">
      <span role="status" className="text-muted">
        {save.data ? `${plural(save.data.rows, one)} saved${save.data.more ? "; there are more, choose a shorter range" : ""}` : ""}
      </span>
      {save.isError ? <ProblemNote error={save.error} /> : null}
      <Button busy={save.isPending} onClick={() => save.mutate()}>
        Save as CSV
      </Button>
    </span>
  );
}
