import { fieldsOf } from "../chat/json.ts";
import { refuse } from "../session/problems.ts";

/** Calls Durable Objects and separates errors of the platform from faults of the called object. */

const refuseOverload = (detail: string): never => refuse("overloaded", detail, { retryAfterMs: 1000 });

/**
 * Calls an object. An error that the platform marks as retryable is retried once if the call may be repeated; `call`
 * must get a new stub each time, since an error breaks a stub. An overloaded object is not called again.
 */
export async function callWithRetry<T>(call: () => Promise<T>, repeatable: boolean): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (thrown) {
      const { retryable, overloaded } = fieldsOf(thrown);
      if (overloaded === true)
        return refuseOverload("The session has more requests than it can handle: try again.");
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
