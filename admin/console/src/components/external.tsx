import { ExternalLink } from "lucide-react";
import type { ReactNode } from "react";

/** A link that leaves the console. Only http and https are followed: addresses come from people and files. */
export function External({ href, children }: { href: string; children: ReactNode }) {
  if (!/^https?:\/\//i.test(href)) return <span className="break-all">{children}</span>;
  return (
    <a href={href} target="_blank" rel="noreferrer" className="break-words text-accent underline">
      {children}
      <ExternalLink aria-hidden size={12} className="ml-1 inline" />
      <span className="sr-only"> (opens a new window)</span>
    </a>
  );
}
