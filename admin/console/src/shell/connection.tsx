import { useQuery, useQueryClient } from "@tanstack/react-query";
import { PlugZap, RefreshCw } from "lucide-react";
import { useEffect, useRef, useState, useSyncExternalStore, type ReactNode } from "react";
import { Button } from "../components/button";
import { connection, keepLooking, tryNow, type Lost } from "../lib/connection";
import { sessionQuery } from "../lib/session";

/** Says that the node does not answer, and reads everything again when it does. */
export function Connection() {
  const lost = useSyncExternalStore(connection.subscribe, connection.get);
  const queries = useQueryClient();
  const gone = lost !== null;
  const version = useQuery({ ...sessionQuery, enabled: false }).data?.version;
  const [first, setFirst] = useState(version);
  if (version && !first) setFirst(version);
  const wasGone = useRef(false);
  useEffect(keepLooking, []);
  useEffect(() => {
    if (wasGone.current && !gone) void queries.invalidateQueries();
    wasGone.current = gone;
  }, [gone, queries]);
  if (lost) return <LostNote lost={lost} />;
  return version && first && version !== first ? <UpdatedNote version={version} /> : null;
}

function LostNote({ lost }: { lost: Lost }) {
  const [now, setNow] = useState(Date.now);
  const [trying, setTrying] = useState(false);
  useEffect(() => {
    const every = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(every);
  }, []);
  const seconds = Math.max(0, Math.ceil((lost.nextAt - now) / 1000));
  const again = async () => {
    setTrying(true);
    await tryNow();
    setTrying(false);
  };
  return (
    <Bar>
      <PlugZap aria-hidden size={18} className="shrink-0 text-warn" />
      <p role="status" className="min-w-0 flex-1 basis-60">
        <strong className="font-semibold">The node does not answer.</strong> What you entered stays on the page; what you see may be older. It is asked again by itself.
      </p>
      {/* Not for screen readers: it changes every second. */}
      <span aria-hidden className="text-muted tabular-nums">
        {seconds > 0 ? `in ${seconds} s` : "now"}
      </span>
      <Button busy={trying} onClick={() => void again()}>
        Try now
      </Button>
    </Bar>
  );
}

/** The page is of an older version than the node: its parts may not fit any more. */
function UpdatedNote({ version }: { version: string }) {
  return (
    <Bar>
      <RefreshCw aria-hidden size={16} className="shrink-0" />
      <p role="status" className="min-w-0 flex-1 basis-60">
        The node was updated to {version}. Save what you entered, then load the page again.
      </p>
      <Button onClick={() => location.reload()}>Load again</Button>
    </Bar>
  );
}

/** Stands over the lower end of the page, so that nothing moves. */
function Bar({ children }: { children: ReactNode }) {
  return (
    <>
      <div aria-hidden className="h-24 md:h-16" />
      <aside aria-label="Connection" className="fixed inset-x-0 bottom-0 z-20 border-t border-warn bg-warn-soft px-4 py-2.5">
        <div className="mx-auto flex max-w-6xl flex-wrap items-center gap-x-3 gap-y-1">{children}</div>
      </aside>
    </>
  );
}
