import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { date } from "../../lib/format";
import type { Series } from "./points";

const HEIGHT = 200;

/** Steps between the ticks of counts: there is no half of a call. */
const wholes = Array.from({ length: 39 }, (_, i) => [1, 2, 5][i % 3]! * 10 ** Math.floor(i / 3));

/** Lines differ by their dashes as well, for who sees no colours and where the system replaces them. */
export const dashes = [[], [6, 4], [2, 3]];

type Colours = (name: string, forced: string) => string;

/** Reads colours as they are now: a canvas knows no CSS variables. */
function readColours(): Colours {
  if (matchMedia("(forced-colors: active)").matches) return (_, forced) => forced;
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(name).trim();
}

/** The colours; another function whenever they change, with the theme and with forced colours. */
function useColours(): Colours {
  const [colours, setColours] = useState(readColours);
  useEffect(() => {
    const changed = () => setColours(readColours);
    const watch = new MutationObserver(changed);
    watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    const forced = matchMedia("(forced-colors: active)");
    forced.addEventListener("change", changed);
    return () => {
      watch.disconnect();
      forced.removeEventListener("change", changed);
    };
  }, []);
  return colours;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** The text at a tick: its time, and its day where that is another one than at the tick before. */
function tick(at: number, i: number, all: number[]): string {
  const moment = new Date(at * 1000);
  const before = all[i - 1];
  const today = day.format(moment);
  if (before !== undefined && at - before >= 86_400) return today;
  return before === undefined || day.format(new Date(before * 1000)) !== today ? `${clock.format(moment)}\n${today}` : clock.format(moment);
}

interface Props {
  at: number[];
  series: Series[];
  bars: boolean;
  format: (value: number) => string;
}

/** Draws a chart. Who cannot see it has the table beside it. */
export default function Plot({ at, series, bars, format }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const colour = useColours();
  const [index, setIndex] = useState<number | null>(null);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const muted = colour("--muted", "CanvasText");
    const axis: uPlot.Axis = { stroke: muted, grid: { stroke: colour("--line", "GrayText"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    const half = ((at[1] ?? 0) - (at[0] ?? 0)) / 2;
    const paths = uPlot.paths.bars?.({ size: [0.7, 40] });
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { show: !bars } },
        scales: { x: { range: (_, from, to) => [from - half, to + half] }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
        axes: [{ ...axis, values: (_, ticks) => ticks.map(tick) }, { ...axis, size: 64, ...(bars ? { incrs: wholes } : {}), values: (_, ticks) => ticks.map(format) }],
        series: [
          {},
          ...series.map((s, i): uPlot.Series => {
            const stroke = colour(s.colour, i === 0 ? "CanvasText" : "Highlight");
            return bars
              ? { stroke, fill: stroke, width: 0, ...(paths ? { paths } : {}), points: { show: false } }
              : { stroke, width: 2, dash: dashes[i % dashes.length], spanGaps: false, points: { show: true, size: 5, fill: stroke } };
          }),
        ],
        hooks: { setCursor: [(u) => setIndex(u.cursor.idx ?? null)] },
      },
      [at, ...series.map((s) => s.values)],
      element,
    );
    const watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [at, series, bars, format, colour]);

  const value = (s: Series) => (index === null ? null : s.values[index]);
  const moment = index === null ? undefined : at[index];
  return (
    <div aria-hidden>
      <div ref={box} className="w-full" style={{ minHeight: HEIGHT }} />
      <p className="mt-1 flex min-h-6 flex-wrap gap-x-4 text-[0.86rem] text-muted tabular-nums">
        {series.map((s, i) => (
          <span key={s.name} className="inline-flex items-center gap-1.5">
            <svg width={bars ? 10 : 22} height="8" style={{ color: `var(${s.colour})` }}>
              {bars ? <rect y="0" width="10" height="8" fill="currentColor" /> : <path d="M0 4h22" stroke="currentColor" strokeWidth="2" strokeDasharray={dashes[i % dashes.length]?.join(" ")} />}
            </svg>
            {s.name}
            {value(s) === null || value(s) === undefined ? "" : `: ${format(value(s) ?? 0)}`}
          </span>
        ))}
        {moment === undefined ? null : <span className="ml-auto">{date(new Date(moment * 1000).toISOString())}</span>}
      </p>
    </div>
  );
}
