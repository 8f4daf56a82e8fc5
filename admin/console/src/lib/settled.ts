import { useEffect, useState } from "react";

const WAIT = 250;

/** A value once it did not change for a moment, so that not every key that is pressed asks the node. */
export function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), WAIT);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
