import type { EffectContext, EffectResult } from "../../agent/definition/effect.ts";
import { isOver } from "../threshold.ts";

/** When a shrinking effect acts, and when it tries again. */

export type Pace = {
  /** Evaluations until the next try; 0 = none is awaited. */
  readonly wait: number;
  /** Size from which it acts again, since it was still over its threshold; null = its threshold. */
  readonly floor: number | null;
};

/** Nothing was tried yet, or the last try did all. */
export const steadyPace: Pace = { wait: 0, floor: null };

const turnsAfterFailure = 3;
const growthShare = 0.05;
/** Tokens that stay free at least: 1 024 for the reply, and a margin. */
const leastFree = 1_280;

/** Tokens up to which a request is sent at all. */
export const sendLimit = (window: number): number => window - leastFree;

/**
 * Tokens up to which a request fits: beside it there is the whole max output. One that would take more than half of
 * the window counts as that half: it is lowered for the reply, and else nothing would ever fit.
 */
export const requestLimit = (window: number, maxOutput: number): number =>
  Math.min(sendLimit(window), window - Math.min(maxOutput, Math.floor(window / 2)));

/** The same where an overflow has told no more of the window than that it ends below a size. */
export const presumedLimit = (window: number): number => Math.floor(window * 0.9);

/** What the effect answers if it does not act now; null = it acts. */
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

/** What is remembered of a try: that it failed, or the size it left if that is still over the threshold. */
export const paceAfter = (window: number, threshold: number, size: number, failed: boolean): Pace => {
  if (failed) return { wait: turnsAfterFailure, floor: null };
  return isOver({ size, window }, threshold)
    ? { wait: 0, floor: size + Math.ceil(window * growthShare) }
    : steadyPace;
};
