import type { ModelErrorCode } from "./error.ts";
import { codeRules } from "./failure.ts";

/** Cooldown of a failed model, until `until`; `step` counts its cooldowns in a row. Times: milliseconds since the epoch. */
export interface Health {
  readonly step: number;
  readonly until: number;
  readonly reason: ModelErrorCode;
  /** Until when one caller tries the model again, while others still see it cooling. */
  readonly trialUntil?: number;
}

/** Row of the health report. */
export interface HealthRow {
  readonly provider: string;
  readonly model: string;
  readonly available: boolean;
  readonly reason: ModelErrorCode | null;
  readonly until: number | null;
}

const minute = 60_000;
const steps = [1, 5, 25, 60].map((minutes) => minutes * minute);
const trialMs = 2 * minute;

/** Ends a trial that said nothing of the model's health, so that the next caller may have one. */
const endTrial = (health: Health | undefined): Health | undefined => {
  if (health?.trialUntil === undefined) return health;
  const { trialUntil: _, ...rest } = health;
  return rest;
};

/**
 * Applies a failure to a model's health; `exhausted` means that the target's retries are used up. Failures during a
 * cooldown do not lengthen it, so that one turn's retries count once.
 */
export const recordFailure = (
  health: Health | undefined,
  code: ModelErrorCode,
  exhausted: boolean,
  now: number,
): Health | undefined => {
  const { cooldown } = codeRules[code];
  if (cooldown === "never") return endTrial(health);
  if (cooldown === "exhausted" && !exhausted) return health;
  const fixed = typeof cooldown === "number" ? now + cooldown : 0;
  if (health !== undefined && now < health.until) {
    return fixed > health.until ? { ...health, until: fixed, reason: code } : health;
  }
  const step = Math.min((health?.step ?? 0) + 1, steps.length);
  return { step, until: fixed || now + (steps[step - 1] ?? 0), reason: code };
};

/** Returns until when a model should be avoided; 0 if it may be called. */
export const coolingUntil = (health: Health | undefined, now: number): number => {
  const until = Math.max(health?.until ?? 0, health?.trialUntil ?? 0);
  return until > now ? until : 0;
};

/** Claims the trial after a cooldown: the caller may call, and others see the model cooling for two more minutes. */
export const claimTrial = (health: Health, now: number): Health =>
  coolingUntil(health, now) > 0 ? health : { ...health, trialUntil: now + trialMs };
