import type { Draft } from "./draft.ts";
import type { Ending } from "./ending.ts";
import type { Host } from "./host.ts";
import type { Places } from "./places.ts";
import type { ToolCache } from "./tool-cache.ts";

/** What one piece of work may touch. */
export interface Outside {
  readonly host: Host;
  readonly cache: ToolCache;
  /** The work is asked to end. */
  readonly stop: Ending;
  /** Nobody waits for its outcome any more. */
  readonly gone: Ending;
  /** The signal of `stop`. */
  readonly signal: AbortSignal;
  readonly places: Places;
  /** Stores an outcome and everything that follows from it, in one commit. */
  readonly settle: (change: (draft: Draft) => void) => void;
}
