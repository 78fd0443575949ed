import type { EffectContext, EffectResult } from "../../agent/definition/effect.ts";
import { isOver } from "../threshold.ts";

/** Decides when a shrinking effect acts, and when it retries. */

export type Pace = {
  /** Number of evaluations until the next try; 0 if none is pending. */
  readonly wait: number;
  /**
   * After a try that stayed over the threshold: the size from which the next begins; a request too large to be sent
   * begins it anyway. Null: the threshold.
   */
  readonly floor: number | null;
};

/** Pace before the first try, and after a try that got below the threshold. */
export const steadyPace: Pace = { wait: 0, floor: null };

/** Pace after a failed summary: the next try is three turns later, unless the request no longer fits. */
export const paceAfterFailure: Pace = { wait: 3, floor: null };

const growthShare = 0.05;
/** Tokens that always stay free: 1 024 for the reply, and a margin. */
const leastFree = 1_280;

/** Returns the largest request, in tokens, that is sent at all. */
export const sendLimit = (window: number): number => window - leastFree;

/**
 * Returns the largest request, in tokens, that fits beside the whole max output. An output above half of the window
 * counts as half of it: it is lowered for the reply, since otherwise nothing would ever fit.
 */
export const requestLimit = (window: number, maxOutput: number): number =>
  Math.min(sendLimit(window), window - Math.min(maxOutput, Math.floor(window / 2)));

/** Returns the request limit if an overflow has only shown that the window ends below a size. */
export const presumeLimit = (window: number): number => Math.floor(window * 0.9);

/** Returns the effect's answer if it does not act now; null if it acts. */
export const waitForPace = (
  { size, window, maxOutput }: Pick<EffectContext, "size" | "window" | "maxOutput">,
  threshold: number,
  pace: Pace,
): EffectResult<Pace> | null => {
  if (window === 0 || threshold === 0) return {};
  const over = isOver({ size, window }, threshold);
  if (pace.wait > 1 && (!over || size <= requestLimit(window, maxOutput)))
    return { state: { ...pace, wait: pace.wait - 1 } };
  if (!over) return pace.wait === 0 && pace.floor === null ? {} : { state: steadyPace };
  return pace.floor !== null && size < pace.floor && size <= sendLimit(window) ? {} : null;
};

/** Returns the pace after a try: whether it failed, and the size it left if that is still over the threshold. */
export const paceAfter = (window: number, threshold: number, size: number, failed: boolean): Pace => {
  if (failed) return paceAfterFailure;
  return isOver({ size, window }, threshold)
    ? { wait: 0, floor: size + Math.ceil(window * growthShare) }
    : steadyPace;
};
