import { isJsonObject, parseJson } from "../chat/json.ts";
import { classify } from "../model/classify.ts";
import type { CompleteOptions, ModelEvent } from "../model/completer.ts";
import type { Deadlines } from "../model/deadlines.ts";
import { ModelError } from "../model/error.ts";
import { asModelError, modelError } from "../model/failure.ts";
import type { AttemptOrigin } from "../model/failure.ts";
import { EgressError } from "../tools/egress/egress.ts";
import { createByteGuard, createBodyGatherer } from "./body-gatherer.ts";
import type { Decoder, Faults } from "./protocol.ts";
import { createSseParser } from "./sse.ts";
import type { SseFrame } from "./sse.ts";

/** Characters of an error answer that are read to classify it. */
const maxErrorBody = 64 * 1024;

/** Milliseconds to wait for the rest of a decided answer: the usage of a reply, the text of an error. */
const usualWait = 5_000;

/** Creates the errors of one attempt's stream. */
export const createFaults = (origin: AttemptOrigin, headers: Headers, now: () => number): Faults => ({
  inBand: (body) => new ModelError(classify({ headers, body }, origin, now())),
  broken: (sentence) => modelError("protocol_error", origin, `The provider's stream is broken: ${sentence}.`),
});

/** Returns the failure behind an error thrown on sending to an address: a refusal of the egress, else one of the network. */
export const sendFailureOf = (
  error: unknown,
  origin: AttemptOrigin,
  signal: AbortSignal,
  address: string,
): ModelError => {
  if (signal.aborted) return asModelError(signal.reason, origin, signal);
  if (error instanceof EgressError) return modelError("invalid_request", origin, error.message);
  return asModelError(error, origin, signal, URL.parse(address)?.host);
};

type ErrorWatch = Pick<Deadlines, "signal" | "timers">;

type RawReader = Pick<CompleteOptions, "onRaw">;

/** Reads and shows the text of an error answer; if it does not end, or breaks off, returns what arrived. */
const readErrorText = async (
  { body }: Response,
  { signal, timers }: ErrorWatch,
  { onRaw }: RawReader,
): Promise<string> => {
  const gatherer = createBodyGatherer(body ?? new Blob([]).stream(), timers);
  const decoder = new TextDecoder();
  const until = timers.now() + usualWait;
  let text = "";
  try {
    while (text.length < maxErrorBody) {
      const chunks = await gatherer.next(until - timers.now());
      if (chunks === null) break;
      for (const chunk of chunks) text += decoder.decode(chunk, { stream: true });
    }
  } catch (error) {
    if (signal.aborted) throw error;
  } finally {
    await gatherer.stop(false);
  }
  text = text.slice(0, maxErrorBody);
  if (text !== "") onRaw?.([text]);
  return text;
};

/** Reads an error answer and returns its failure. */
export const readAnswerFailure = async (
  response: Response,
  origin: AttemptOrigin,
  watch: ErrorWatch,
  live: RawReader,
): Promise<ModelError> => {
  const { status, headers } = response;
  const body = await readErrorText(response, watch, live);
  return new ModelError(classify({ status, headers, body }, origin, watch.timers.now()));
};

const hasError = (body: string): boolean => {
  const value = parseJson(body);
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return isJsonObject(first) && (first["error"] ?? null) !== null;
};

/** Content types that a failure may name; others could quote a header. */
const namedTypes = new Set(["text/html", "text/plain", "application/json", "text/event-stream"]);

/** Refuses an answer of status 200 that is not an event stream: JSON errors by their content, others as invalid. */
export const checkStream = async (
  response: Response,
  faults: Faults,
  watch: ErrorWatch,
  live: RawReader,
): Promise<ReadableStream<Uint8Array>> => {
  const type = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (type === "text/event-stream" && response.body !== null) return response.body;
  const body = await readErrorText(response, watch, live);
  if (hasError(body)) throw faults.inBand(body);
  const what = namedTypes.has(type) ? type : "another content type";
  throw faults.broken(`${what} instead of text/event-stream`);
};

interface DecodedBatch {
  readonly events: ModelEvent[];
  /** Error that stopped the decoding; the events before it still count. */
  readonly error?: unknown;
}

const decodeFrames = (decoder: Decoder, lots: Iterable<readonly SseFrame[]>): DecodedBatch => {
  const events: ModelEvent[] = [];
  try {
    for (const frames of lots) for (const frame of frames) decoder.frame(frame, events);
    return { events };
  } catch (error) {
    return { events, error };
  }
};

const isWhole = ({ data }: SseFrame): boolean => data === "[DONE]" || parseJson(data, Infinity) !== undefined;

/** Returns whether bytes show that the model works: they have content, or came while it reasons. */
const showsWork = (events: readonly ModelEvent[], decoder: Decoder): boolean =>
  events.some(({ type }) => type !== "ping") || decoder.reasons?.() === true;

/**
 * Reads a reply as batches of events: counts bytes, parses frames and reports reads to the deadlines. The SDKs'
 * iteration of the stream is not used: it accepts a cut stream as whole, logs broken frames, and costs more for
 * each delta (measured 2.5 µs) than parsing and collecting in batches (2.1 µs).
 */
export async function* readReply(
  body: ReadableStream<Uint8Array>,
  decoder: Decoder,
  faults: Faults,
  deadlines: Pick<Deadlines, "read" | "timers">,
  { onRaw }: RawReader,
): AsyncGenerator<readonly ModelEvent[]> {
  const gatherer = createBodyGatherer(body, deadlines.timers);
  const guard = createByteGuard();
  const parser = createSseParser();
  let isTooLong = false;
  const parse = (chunk: Uint8Array): readonly SseFrame[] => {
    const broken = guard(chunk);
    isTooLong = broken !== null;
    if (isTooLong) throw faults.broken(`the ${broken} is longer than its limit`);
    const frames = parser.feed(chunk);
    if (frames.length > 0) onRaw?.(frames.map(({ data }) => data));
    return frames;
  };
  const parseEach = function* (chunks: readonly Uint8Array[]): Generator<readonly SseFrame[]> {
    for (const chunk of chunks) yield parse(chunk);
  };
  let until: number | undefined;
  /** Returns the next bytes; after the reply's end ignores late bytes and a broken connection. */
  const read = async (): Promise<readonly Uint8Array[] | null> => {
    if (decoder.state() === "open") return gatherer.next();
    until ??= deadlines.timers.now() + usualWait;
    const left = until - deadlines.timers.now();
    return left > 0 ? gatherer.next(left).catch(() => null) : null;
  };
  try {
    while (decoder.state() !== "done") {
      const chunks = await read();
      // A last frame without its blank line counts; a frame that was cut off shows as a missing end.
      const batch = decodeFrames(
        decoder,
        chunks === null ? [parser.end().filter(isWhole)] : parseEach(chunks),
      );
      if (chunks === null && batch.error === undefined) decoder.end?.(batch.events);
      if (chunks !== null) deadlines.read(showsWork(batch.events, decoder));
      // A batch shows that the reply began, which must be paid for even if none of it could be read.
      if (batch.events.length > 0 || isTooLong) yield batch.events;
      if (batch.error !== undefined) throw batch.error;
      if (chunks === null) return;
    }
  } finally {
    await gatherer.stop(decoder.state() === "done");
  }
}
