import { useEffect, useId, useRef, type ReactNode } from "react";

interface Props {
  title: string;
  open: boolean;
  onClose: () => void;
  /** Room for tables and texts. */
  wide?: boolean;
  children: ReactNode;
}

/** A native modal dialog: Escape closes it, what is behind is inert, the focus goes back. */
export function Dialog({ title, open, onClose, wide = false, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    if (open && !element?.open) element?.showModal();
    if (!open && element?.open) element.close();
  }, [open]);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onClose={onClose}
      className={`${wide ? "w-[min(52rem,calc(100vw-2rem))]" : "w-[min(30rem,calc(100vw-2rem))]"} rounded-lg border border-line bg-surface p-5`}
    >
      <h2 id={id} className="mb-3 text-lg font-semibold break-words">
        {title}
      </h2>
      {open ? children : null}
    </dialog>
  );
}
