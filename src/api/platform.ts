import { refuse } from "../session/problems.ts";
import { requestFieldsOf } from "./body.ts";

/** Calls to Durable Objects: what the platform throws is no fault of the callee's. */

const refuseOverload = (detail: string): never => refuse("overloaded", detail, { retryAfterMs: 1000 });

/**
 * Calls an object. A fault that the platform calls retryable is tried once more where the call may be repeated;
 * `call` must get a new stub each time, since a stub is broken after a fault. An overloaded object is left alone.
 */
export async function callWithRetry<T>(call: () => Promise<T>, repeatable: boolean): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (thrown) {
      const { retryable, overloaded } = requestFieldsOf(thrown);
      if (overloaded === true)
        return refuseOverload("The session has more requests than it can take: try again.");
      if (retryable !== true) throw thrown;
      if (!repeatable) {
        return refuseOverload(
          "The session was interrupted, so the outcome is unknown: send an Idempotency-Key to repeat safely.",
        );
      }
      if (attempt === 2) return refuseOverload("The session was interrupted: try again.");
    }
  }
}
