import { fraction } from "../schema.ts";
import type { EffectContext } from "../agent/definition/effect.ts";

/** Returns the schema of the threshold of effects that act from a share of the context window. */
export const thresholdSchema = (value: number) =>
  fraction({ zero: true })
    .default(value)
    .describe("Share of the context window from which it acts; 0 = never.");

/**
 * Returns whether the coming request has reached a share of the window; never if the window is unknown (0) or the
 * share 0.
 */
export const isOver = ({ size, window }: Pick<EffectContext, "size" | "window">, share: number): boolean =>
  window > 0 && share > 0 && size >= Math.floor(window * share);

/** Schema of the threshold at which budgets warn before they are used up. */
export const warnThresholdSchema = fraction({ zero: true })
  .default(0.8)
  .describe("Share at which a warning is given.");
