import type { Schemas } from "../../lib/api";

export type Point = Schemas["UsagePoint"];
export type Usage = Schemas["UsageReportOutput"];

/** One line or bar of a chart. */
export interface Series {
  name: string;
  /** A colour of the theme, as a CSS variable. */
  colour: string;
  /** null: there was nothing to measure. */
  values: (number | null)[];
}

/** Points that a chart can have; the API gives fewer. */
const MOST = 5000;

/** The points of a report with those of steps without calls, which the API leaves out, as undefined. */
export function everyStep(usage: Usage): { at: number; point: Point | undefined }[] {
  const points = usage.groups[0]?.points ?? [];
  const known = new Map(points.map((p) => [Date.parse(p.at) / 1000, p]));
  const step = usage.stepSeconds;
  if (step <= 0) return [];
  const from = Date.parse(usage.from) / 1000;
  const length = Math.min(Math.ceil((Date.parse(usage.to) / 1000 - from) / step), MOST);
  return Array.from({ length }, (_, i) => ({ at: from + i * step, point: known.get(from + i * step) }));
}
