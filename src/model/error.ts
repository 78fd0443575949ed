import type { Usage } from "./completer.ts";

/** Ways in which one model attempt can fail. */
export type ModelErrorCode =
  | "rate_limited"
  | "overloaded"
  | "server_error"
  | "network"
  | "platform_limit"
  | "timeout"
  | "truncated_stream"
  | "protocol_error"
  | "quota_exceeded"
  | "auth"
  | "model_not_found"
  | "context_overflow"
  | "reasoning_refused"
  | "media_refused"
  | "invalid_request"
  | "cancelled";

/** Failed attempt as plain data. `message` is ≤ 300 characters, without secrets or payload. */
export interface ModelFailure {
  readonly code: ModelErrorCode;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  /** Until when the provider's rate headers ask later calls to wait, milliseconds since the epoch. */
  readonly holdUntil?: number;
  readonly status?: number;
  readonly provider: string;
  readonly model: string;
  readonly requestId?: string;
  readonly message: string;
  /** Whether the first byte of a reply was read: the attempt may have been billed. */
  readonly billed?: boolean;
  /** Usage to book if `billed`, always an estimate; `cost` in 10⁻⁹ USD, null without a price. */
  readonly usage?: Usage;
  readonly cost?: number | null;
}

/** Error with which `Completer.complete` rejects. */
export class ModelError extends Error {
  readonly failure: ModelFailure;
  constructor(failure: ModelFailure) {
    super(failure.message);
    this.name = "ModelError";
    this.failure = failure;
  }
}
