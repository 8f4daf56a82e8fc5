import { lazy, Suspense, useId, useState } from "react";
import { Button } from "../../components/button";
import { Card } from "../../components/page";
import { Table, type Column } from "../../components/table";
import { csv, download } from "../../lib/csv";
import { date } from "../../lib/format";
import type { Series } from "./points";

const Plot = lazy(() => import("./plot"));

interface Props {
  title: string;
  /** What it shows in a sentence, for who does not see it. */
  summary: string;
  at: number[];
  series: Series[];
  bars?: boolean;
  format: (value: number) => string;
}

type Step = { at: number; index: number };

const iso = (s: Step) => new Date(s.at * 1000).toISOString();

const columns = (series: Series[], format: Props["format"]): Column<Step>[] => [
  { name: "From", cell: (s) => <time dateTime={iso(s)} className="whitespace-nowrap">{date(iso(s))}</time> },
  ...series.map((one): Column<Step> => ({ name: one.name, number: true, cell: (s) => format(one.values[s.index] ?? 0) })),
];

/** A chart with its numbers as a table and as a file. */
export function Chart({ title, summary, at, series, bars = false, format }: Props) {
  const [table, setTable] = useState(false);
  const id = useId();
  const steps = at.map((moment, index) => ({ at: moment, index })).filter((s) => series.some((one) => one.values[s.index]));
  const save = () =>
    download(
      `${title.toLowerCase().replaceAll(/[^a-z]+/g, "-")}.csv`,
      csv(["from", ...series.map((s) => s.name)], steps.map((s) => [iso(s), ...series.map((one) => one.values[s.index] ?? undefined)])),
    );
  return (
    <Card
      title={title}
      actions={
        <span className="flex flex-wrap gap-2">
          <Button kind="quiet" aria-expanded={table} aria-controls={id} aria-label={`${title} as a table`} onClick={() => setTable(!table)}>
            As a table
          </Button>
          <Button kind="quiet" aria-label={`${title} as a CSV file`} onClick={save}>
            CSV
          </Button>
        </span>
      }
    >
      <p className="sr-only">{summary}</p>
      <Suspense fallback={<div className="h-[13.9rem] animate-pulse rounded bg-sunken" />}>
        <Plot at={at} series={series} bars={bars} format={format} />
      </Suspense>
      <div id={id} className={table ? "mt-3 max-h-96 overflow-y-auto border-t border-line" : ""}>
        {table ? steps.length > 0 ? <Table label={title} columns={columns(series, format)} rows={steps} id={(s) => String(s.at)} /> : <p className="pt-3 text-muted">Nothing was called.</p> : null}
      </div>
    </Card>
  );
}
