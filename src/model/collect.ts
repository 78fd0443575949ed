import { estimateRequest, estimateText } from "../chat/tokens.ts";
import { createCallIds } from "./call-ids.ts";
import type { CompleteOptions, Completion, ModelEvent, ModelRequest } from "./completer.ts";
import { ModelError } from "./error.ts";
import { asModelError, modelError } from "./failure.ts";
import type { AttemptOrigin } from "./failure.ts";
import { costOf } from "./prices.ts";
import type { Price } from "./schema.ts";
import { finishOf, openReply, partsOf, takeDeltas, takeEvent } from "./reply.ts";
import type { OpenReply } from "./reply.ts";
import { readUsage } from "./usage.ts";
import type { UsageReport } from "./usage.ts";

/** What the collector has to know about an attempt. */
export interface CollectOptions {
  readonly request: ModelRequest;
  readonly provider: string;
  /** Output tokens that the request as sent allows, if that is not its `maxTokens`. */
  readonly maxOutput?: number;
  /** Price of the model that answered, by the id it gave. */
  readonly price: (answered: string) => Price | null;
  /** When the request was sent, and the clock: milliseconds. */
  readonly startedAt: number;
  readonly now: () => number;
  /** The attempt's own signal, which ends the collection at once; a reason that is no `ModelError` is `cancelled`. */
  readonly signal?: AbortSignal;
  readonly onDelta?: CompleteOptions["onDelta"];
  /** All of the reply is there at once, whatever its batches are. */
  readonly isInstant?: boolean;
  /** The result of `readHoldUntil(headers, now)` in rate-headers.ts. */
  readonly holdUntil?: number | undefined;
}

interface CollectAttempt {
  readonly reply: OpenReply;
  readonly options: CollectOptions;
  readonly origin: AttemptOrigin;
  firstAt: number | undefined;
  settled: boolean;
}

/**
 * Builds a completion from a wire's events: one batch of events per network read, one `onDelta` call per batch.
 * A reply without `finish` is `truncated_stream`, an impossible one `protocol_error`; whatever the iterable throws
 * rejects as a `ModelError`, marked `billed` with estimated usage once the first batch was read, empty or not.
 */
export const collect = async (
  batches: AsyncIterable<readonly ModelEvent[]>,
  options: CollectOptions,
): Promise<Completion> => {
  const { request, provider, signal } = options;
  const origin = { provider, model: request.model };
  const reply = openReply(origin, createCallIds(request), options.onDelta !== undefined);
  const attempt: CollectAttempt = { reply, options, origin, firstAt: undefined, settled: false };
  if (signal?.aborted === true) throw asModelError(signal.reason, origin, signal);
  try {
    await raceAbort(pump(batches[Symbol.asyncIterator](), attempt), origin, signal);
  } catch (error) {
    throw error instanceof ModelError ? bookUsage(error, attempt) : error;
  } finally {
    attempt.settled = true;
  }
  return completionOf(attempt);
};

/** Settles with the work or, if that comes first, with the abort: a read that ignores the signal blocks nobody. */
const raceAbort = (work: Promise<void>, origin: AttemptOrigin, signal?: AbortSignal): Promise<void> => {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(asModelError(signal.reason, origin, signal)), {
      once: true,
    });
    void work.then(resolve, reject);
  });
};

const isWhole = ({ reply, options }: CollectAttempt): boolean =>
  options.isInstant === true || reply.finish !== undefined;

const pump = async (
  batches: AsyncIterator<readonly ModelEvent[]>,
  attempt: CollectAttempt,
): Promise<void> => {
  const { reply, options } = attempt;
  let open = true;
  try {
    for (;;) {
      const read = await readNext(batches, attempt);
      open = read.done !== true;
      if (read.done === true || attempt.settled) break;
      attempt.firstAt ??= options.now();
      for (const event of read.value) takeEvent(reply, event);
      const deltas = takeDeltas(reply);
      if (deltas.length > 0) options.onDelta?.(deltas, isWhole(attempt));
    }
  } finally {
    if (open) batches.return?.().catch(() => undefined);
  }
  if (reply.finish === undefined) {
    throw modelError(
      "truncated_stream",
      attempt.origin,
      "The provider's reply ended before its end was told.",
    );
  }
};

/** Reads once. Only its own errors are the provider's; an error of `onDelta` passes unchanged. */
const readNext = async (
  batches: AsyncIterator<readonly ModelEvent[]>,
  { origin, options }: CollectAttempt,
): Promise<IteratorResult<readonly ModelEvent[], unknown>> => {
  try {
    return await batches.next();
  } catch (error) {
    throw asModelError(error, origin, options.signal);
  }
};

/** The tokens of what the reply holds so far. */
const countWritten = ({ parts }: OpenReply): number =>
  parts.reduce((sum, { name, text, fresh }) => sum + estimateText(name + text + fresh), 0);

/** The reported usage, with estimates for what is missing; they are made only when needed. */
const usageOf = ({ reply, options }: CollectAttempt): UsageReport => {
  const report = readUsage(reply.rawUsage, { input: 0, output: 0 });
  if (!report.estimated) return report;
  return readUsage(reply.rawUsage, { input: estimateRequest(options.request), output: countWritten(reply) });
};

const completionOf = (attempt: CollectAttempt): Completion => {
  const { reply, options, firstAt } = attempt;
  const finish = finishOf(reply, reply.finish ?? "stop");
  const parts = partsOf(reply, finish);
  const { usage, estimated, cacheWrite1h } = usageOf(attempt);
  const endedAt = options.now();
  return {
    parts,
    finish,
    ...(reply.category === undefined ? {} : { category: reply.category }),
    empty: !parts.some((part) =>
      part.type === "text" ? part.text.trim() !== "" : part.type === "tool_call",
    ),
    usage,
    estimated,
    cost: costOf(usage, cacheWrite1h, options.price(reply.model)),
    provider: options.provider,
    model: reply.model,
    ...(reply.requestId !== undefined && { requestId: reply.requestId }),
    ...(options.holdUntil !== undefined && { holdUntil: options.holdUntil }),
    firstByteMs: (firstAt ?? endedAt) - options.startedAt,
    totalMs: endedAt - options.startedAt,
  };
};

/**
 * A failure after the first byte, with the usage that is booked: what was reported, at least what was written, and
 * no more output than the request allows.
 */
const bookUsage = ({ failure }: ModelError, attempt: CollectAttempt): ModelError => {
  const { reply, options, firstAt } = attempt;
  if (firstAt === undefined) return new ModelError(failure);
  const { usage, cacheWrite1h } = usageOf(attempt);
  const { maxOutput = options.request.maxTokens } = options;
  const output = Math.min(maxOutput, Math.max(usage.output, countWritten(reply)));
  const total = usage.input + usage.cacheRead + usage.cacheWrite + output;
  const spent = { ...usage, output, total };
  const requestId = failure.requestId ?? reply.requestId;
  return new ModelError({
    ...failure,
    ...(requestId !== undefined && { requestId }),
    billed: true,
    usage: spent,
    cost: costOf(spent, cacheWrite1h, options.price(reply.model)),
  });
};
