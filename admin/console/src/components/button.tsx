import type { ButtonHTMLAttributes, ReactNode } from "react";

type Kind = "primary" | "plain" | "quiet" | "danger";

const base =
  "inline-flex min-h-8 items-center justify-center gap-1.5 rounded-md border px-3 py-1 font-medium whitespace-nowrap disabled:opacity-60";

const kinds: Record<Kind, string> = {
  primary: "border-transparent bg-accent text-on-accent hover:brightness-110 forced-colors:bg-[ButtonFace] forced-colors:text-[ButtonText]",
  plain: "border-line bg-surface text-text hover:border-line-strong",
  quiet: "border-transparent text-muted hover:bg-sunken hover:text-text",
  danger: "border-bad bg-surface text-bad hover:bg-bad-soft",
};

/** The look of a button, for links that act like one. */
export const buttonClass = (kind: Kind = "plain") => `${base} ${kinds[kind]}`;

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: Kind;
  busy?: boolean;
  children: ReactNode;
}

export function Button({ kind = "plain", busy = false, className = "", children, disabled, ...rest }: Props) {
  return (
    <button type="button" className={`${buttonClass(kind)} ${className}`} disabled={disabled || busy} aria-busy={busy || undefined} {...rest}>
      {busy ? <span aria-hidden className="size-3 animate-spin rounded-full border-2 border-current border-r-transparent" /> : null}
      {children}
    </button>
  );
}
