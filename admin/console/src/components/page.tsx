import { useEffect, useRef, type ReactNode } from "react";

interface Props {
  title: string;
  /** What the title of the window says, where it is not the title. */
  windowTitle?: string;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** A page: its heading gets the focus when the page is opened, so that a screen reader says it. */
export function Page({ title, windowTitle = title, lead, actions, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${windowTitle} · Sluice`;
  }, [windowTitle]);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <>
      <header className="mb-5 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          <h1 ref={heading} tabIndex={-1} className="text-xl leading-tight font-semibold tracking-tight break-words">
            {title}
          </h1>
          {lead ? <div className="mt-1 text-muted">{lead}</div> : null}
        </div>
        {actions ? <div className="flex flex-wrap gap-2">{actions}</div> : null}
      </header>
      {children}
    </>
  );
}

export function Card({ title, actions, children, flush = false }: { title?: string; actions?: ReactNode; children: ReactNode; flush?: boolean }) {
  return (
    <section className="min-w-0 rounded-lg border border-line bg-surface shadow-card">
      {title ? (
        <div className="flex flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-1.5 min-h-11">
          <h2 className="font-semibold">{title}</h2>
          {actions}
        </div>
      ) : null}
      <div className={flush ? "" : "p-4"}>{children}</div>
    </section>
  );
}

/** A pair of a name and what it is, in a <dl>. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex flex-wrap justify-between gap-x-4 gap-y-0.5 border-b border-line py-2 last:border-0">
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0 text-right break-words">{children}</dd>
    </div>
  );
}
