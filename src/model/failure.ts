import { ModelError } from "./error.ts";
import type { ModelErrorCode, ModelFailure } from "./error.ts";
import { firstCharacters } from "../chat/text.ts";
import { isRequestLimit } from "../tools/egress/egress.ts";

/** Consequence of a failure: a retry, at most two retries, the next model target, or the end. */
export type Remedy = "retry" | "retry_twice" | "next_lane" | "fail";

interface CodeRule {
  readonly remedy: Remedy;
  /** When the target cools down: at once, only when its retries are used up, or for a fixed time in milliseconds. */
  readonly cooldown: "at_once" | "exhausted" | "never" | number;
}

/** Consequences of each failure of a model call. */
export const codeRules: Readonly<Record<ModelErrorCode, CodeRule>> = {
  rate_limited: { remedy: "retry", cooldown: "exhausted" },
  overloaded: { remedy: "retry", cooldown: "at_once" },
  server_error: { remedy: "retry", cooldown: "at_once" },
  network: { remedy: "retry", cooldown: "at_once" },
  platform_limit: { remedy: "retry", cooldown: "never" },
  timeout: { remedy: "retry", cooldown: "at_once" },
  truncated_stream: { remedy: "retry_twice", cooldown: "never" },
  protocol_error: { remedy: "retry_twice", cooldown: "never" },
  quota_exceeded: { remedy: "next_lane", cooldown: 600_000 },
  auth: { remedy: "next_lane", cooldown: "never" },
  model_not_found: { remedy: "next_lane", cooldown: "never" },
  context_overflow: { remedy: "fail", cooldown: "never" },
  reasoning_refused: { remedy: "fail", cooldown: "never" },
  media_refused: { remedy: "fail", cooldown: "never" },
  invalid_request: { remedy: "fail", cooldown: "never" },
  cancelled: { remedy: "fail", cooldown: "never" },
};

/** Provider name and model id of the failed attempt. */
export interface AttemptOrigin {
  readonly provider: string;
  readonly model: string;
}

const messageLimit = 300;

/** Cuts a message to 300 characters without splitting a surrogate pair. */
const shorten = (message: string): string =>
  message.length <= messageLimit ? message : `${firstCharacters(message, messageLimit - 1)}…`;

/** Creates a `ModelError`, `retryable` as the table says unless `more` overrides it; `message` must hold no payload. */
export const modelError = (
  code: ModelErrorCode,
  origin: AttemptOrigin,
  message: string,
  more: Partial<Omit<ModelFailure, "code" | "message" | "provider" | "model">> = {},
): ModelError => {
  const { remedy } = codeRules[code];
  return new ModelError({
    code,
    retryable: remedy === "retry" || remedy === "retry_twice",
    provider: origin.provider,
    model: origin.model,
    message: shorten(message),
    ...more,
  });
};

/**
 * Converts whatever a transport threw to a `ModelError`: the reason of an aborted signal if it is one, `cancelled`
 * for any other abort, `platform_limit` where no request may be sent, otherwise `network`. The text of unknown errors is
 * dropped: it may quote payload. `host` is where the request was sent, if that is known.
 */
export const asModelError = (
  error: unknown,
  origin: AttemptOrigin,
  signal?: AbortSignal,
  host?: string,
): ModelError => {
  if (error instanceof ModelError) return error;
  if (signal?.aborted === true) {
    const reason: unknown = signal.reason;
    return reason instanceof ModelError ? reason : modelError("cancelled", origin, "The call was cancelled.");
  }
  if (isRequestLimit(error))
    return modelError("platform_limit", origin, "The platform permits no more requests for now.");
  const place = host === undefined ? "" : ` at ${host}`;
  return modelError("network", origin, `The connection to the provider ${origin.provider}${place} failed.`);
};
