import type { EndReason, RunState } from "./state/events.ts";

/** The whole stored state of a session: plain readonly JSON, changed only by transitions. */

/** How a run ends: decided with what it followed from, carried out as the next step. */
export interface RunEnding {
  readonly state: RunState;
  readonly reason: EndReason;
  readonly error: string | null;
}
