import { useState } from "react";

interface State<T> {
  entered: Partial<T>;
  /** What the node had where something was entered, and the ETag of that. */
  base: Partial<T>;
  etag: string;
}

const none = { entered: {}, base: {}, etag: "" };

/**
 * What was entered over what the node has. What nobody entered follows the node, and only what
 * differs from it is sent. It is sent with the ETag of the state that it was entered upon where
 * the node has something else there now: a change of somebody else is then refused by the node
 * instead of lost.
 */
export function useEdits<T extends object>(stored: T, etag: string) {
  const [state, setState] = useState<State<T>>(none);
  const { entered, base } = state;
  const keys = (Object.keys(entered) as (keyof T)[]).filter((key) => entered[key] !== stored[key]);
  return {
    values: { ...stored, ...entered },
    /** The members that were entered and differ from the node's. */
    changed: Object.fromEntries(keys.map((key) => [key, entered[key]])) as Partial<T>,
    dirty: keys.length > 0,
    etag: keys.every((key) => base[key] === stored[key]) ? etag : state.etag || etag,
    /** What the node has now, whatever the entries were made upon. */
    newest: etag,
    enter: (part: Partial<T>) =>
      setState((s) => ({
        entered: { ...s.entered, ...part },
        base: { ...Object.fromEntries(Object.keys(part).map((key) => [key, stored[key as keyof T]])), ...s.base } as Partial<T>,
        etag: s.etag || etag,
      })),
    /** The node took these; what was entered since stays. */
    saved: (part: Partial<T>) =>
      setState((s) => ({ entered: Object.fromEntries(Object.entries(s.entered).filter(([key, value]) => value !== part[key as keyof T])) as Partial<T>, base: {}, etag: "" })),
    drop: () => setState(none),
  };
}

export type Edits<T extends object> = ReturnType<typeof useEdits<T>>;
