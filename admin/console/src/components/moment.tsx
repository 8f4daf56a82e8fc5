import { ago, date } from "../lib/format";

/** A time as how long ago it is; the whole of it stands in its title. */
export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} title={date(at)} className="whitespace-nowrap">
      {ago(at)}
    </time>
  );
}
