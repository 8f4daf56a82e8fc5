import { useState } from "react";

/**
 * What was entered over what the node has. What nobody entered follows the node, and only what
 * differs from it is sent, with the ETag of the state that the first entry was made upon: a change
 * of somebody else meanwhile is refused by the node instead of lost.
 */
export function useEdits<T extends object>(stored: T, etag: string) {
  const [state, setState] = useState<{ entered: Partial<T>; etag: string }>({ entered: {}, etag: "" });
  const keys = (Object.keys(state.entered) as (keyof T)[]).filter((key) => state.entered[key] !== stored[key]);
  return {
    values: { ...stored, ...state.entered },
    /** The members that were entered and differ from the node's. */
    changed: Object.fromEntries(keys.map((key) => [key, state.entered[key]])) as Partial<T>,
    dirty: keys.length > 0,
    etag: state.etag || etag,
    /** What the node has now, whatever the entries were made upon. */
    newest: etag,
    enter: (part: Partial<T>) => setState((s) => ({ entered: { ...s.entered, ...part }, etag: s.etag || etag })),
    /** Entries are meant over what the node has now. */
    rebase: () => setState((s) => ({ ...s, etag: "" })),
    /** The node took these; what was entered since stays. */
    saved: (part: Partial<T>) =>
      setState((s) => ({ entered: Object.fromEntries(Object.entries(s.entered).filter(([key, value]) => value !== part[key as keyof T])) as Partial<T>, etag: "" })),
    drop: () => setState({ entered: {}, etag: "" }),
  };
}

export type Edits<T extends object> = ReturnType<typeof useEdits<T>>;
