import type { EffectContext, EffectResult } from "../../agent/definition/effect.ts";
import { isOver } from "../threshold.ts";

/** The pace decides when a shrinking effect acts, and when it tries again. */

export type Pace = {
  /** Evaluations until the next try; 0 if none is pending. */
  readonly wait: number;
  /** Size from which it acts again after it stayed over its threshold; null = its threshold. */
  readonly floor: number | null;
};

/** The pace before the first try, and after one that got below the threshold. */
export const steadyPace: Pace = { wait: 0, floor: null };

/** The pace after a failed summary: the next try comes three turns later, unless the request no longer fits. */
export const paceAfterFailure: Pace = { wait: 3, floor: null };

const growthShare = 0.05;
/** Tokens that always stay free: 1 024 for the reply, and a margin. */
const leastFree = 1_280;

/** The largest request, in tokens, that is sent at all. */
export const sendLimit = (window: number): number => window - leastFree;

/**
 * The largest request, in tokens, that fits beside the whole max output. An output above half of the window counts as
 * half of it: it is lowered for the reply, since otherwise nothing would ever fit.
 */
export const requestLimit = (window: number, maxOutput: number): number =>
  Math.min(sendLimit(window), window - Math.min(maxOutput, Math.floor(window / 2)));

/** The same limit where an overflow has only shown that the window ends below a size. */
export const presumeLimit = (window: number): number => Math.floor(window * 0.9);

/** The effect's answer if it does not act now; null if it acts. */
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
  return pace.floor !== null && size < pace.floor ? {} : null;
};

/** The pace after a try: that it failed, or the size it left if that is still over the threshold. */
export const paceAfter = (window: number, threshold: number, size: number, failed: boolean): Pace => {
  if (failed) return paceAfterFailure;
  return isOver({ size, window }, threshold)
    ? { wait: 0, floor: size + Math.ceil(window * growthShare) }
    : steadyPace;
};
