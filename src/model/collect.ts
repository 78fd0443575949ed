import { estimateRequest, estimateText } from "../chat/tokens.ts";
import { createCallIds, finishOf, openReply, partsOf, takeDeltas, takeEvent } from "./reply.ts";
import type { CompleteOptions, Completion, ModelEvent, ModelRequest } from "./completer.ts";
import { ModelError } from "./error.ts";
import { asModelError, modelError } from "./failure.ts";
import type { AttemptOrigin } from "./failure.ts";
import { costOf, readUsage } from "./usage.ts";
import type { Price } from "./schema.ts";
import type { OpenReply } from "./reply.ts";
import type { UsageReport } from "./usage.ts";

/** Parameters of an attempt for the collector. */
export interface CollectOptions {
  readonly request: ModelRequest;
  readonly provider: string;
  /** Output tokens that the sent request allows, if not its `maxTokens`. */
  readonly maxOutput?: number;
  /** Returns the price of the model that answered, by the id in its answer. */
  readonly price: (answered: string) => Price | null;
  /** When the request was sent, and the clock: milliseconds. */
  readonly startedAt: number;
  readonly now: () => number;
  /** Signal of the attempt, which ends the collection at once; a reason other than a `ModelError` is `cancelled`. */
  readonly signal?: AbortSignal;
  readonly onDelta?: CompleteOptions["onDelta"];
  /** Whether the whole reply is available at once, however it is divided into batches. */
  readonly isInstant?: boolean;
  /** Result of `readHoldUntil(headers, now)` in rate-headers.ts. */
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
 * Builds a completion from the events of a protocol: one batch of events per network read, one `onDelta` call per
 * batch. A reply without `finish` is `truncated_stream`, an impossible one `protocol_error`; whatever the iterable
 * throws rejects as a `ModelError`, marked `billed` with estimated usage once the first batch was read, empty or
 * not.
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

/** Settles with the work or with an earlier abort, so that a read that ignores the signal blocks no caller. */
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
    throw modelError("truncated_stream", attempt.origin, "The provider's reply ended without an end marker.");
  }
};

/** Reads once. Only errors of the read are the provider's; an error of `onDelta` passes unchanged. */
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

/** Returns the tokens of the reply so far. */
const countWritten = ({ parts }: OpenReply): number =>
  parts.reduce((sum, { name, text, fresh }) => sum + estimateText(name + text + fresh), 0);

/** Returns the reported usage, with estimates for missing figures, made only when needed. */
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
 * Returns a failure after the first byte, with the usage to book: the reported usage, but at least the written
 * output, and no more output than the request allows.
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
