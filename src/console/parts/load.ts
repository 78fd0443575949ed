import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { describeFault } from "../conversation/problems.ts";
import { untilReached } from "../state/again.ts";
import { createReader } from "./reader.ts";

/** What a component shows and has to be read first. It is not among the hooks, so that the first load goes without it. */

export interface Loaded<T> {
  readonly state: "loading" | "ready" | "failed";
  readonly value: T | null;
  readonly problem: string | null;
}

const nothingLoaded = { state: "loading", value: null, problem: null } as const;

/**
 * Loads the value of a key; that of another key is not shown. A change of `version` has it loaded again, after the
 * load under way, and what was loaded stays until the next is there. What did not reach the server is tried again.
 */
export const useLoad = <T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  version: string | number = "",
): Loaded<T> => {
  const [{ of, loaded }, setLoaded] = useState<{ readonly of: string; readonly loaded: Loaded<T> }>({
    of: key,
    loaded: nothingLoaded,
  });
  const newest = useRef(load);
  newest.current = load;
  const reader = useMemo(() => {
    const show = (signal: AbortSignal, change: (before: Loaded<T>) => Loaded<T>): void => {
      if (signal.aborted) return;
      setLoaded((before) => ({ of: key, loaded: change(before.of === key ? before.loaded : nothingLoaded) }));
    };
    return createReader(async (signal) => {
      const fail = (fault: unknown): void =>
        show(signal, ({ value }) => ({ state: "failed", value, problem: describeFault(fault) }));
      try {
        const value = await untilReached(() => newest.current(signal), signal, fail);
        show(signal, () => ({ state: "ready", value, problem: null }));
      } catch (fault) {
        fail(fault);
      }
    });
  }, [key]);
  useEffect(() => reader.stop, [reader]);
  useEffect(() => reader.refresh(), [reader, version]);
  return of === key ? loaded : nothingLoaded;
};
