import type { Draft } from "./draft.ts";
import type { Host } from "./host.ts";
import type { ToolCache } from "./tool-cache.ts";

/** What one piece of work may touch. */
export interface Outside {
  readonly host: Host;
  readonly cache: ToolCache;
  readonly signal: AbortSignal;
  /** Stores an outcome and everything that follows from it, in one commit. */
  readonly settle: (change: (draft: Draft) => void) => void;
}
