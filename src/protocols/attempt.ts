import type { Json } from "../chat/message.ts";
import { classify } from "../model/classify.ts";
import type { ModelEvent } from "../model/completer.ts";
import type { Deadlines } from "../model/deadlines.ts";
import { ModelError } from "../model/error.ts";
import { asModelError, modelError } from "../model/failure.ts";
import type { Origin } from "../model/failure.ts";
import { EgressError } from "../tools/egress.ts";
import { readCapped } from "../tools/egress-body.ts";
import { createByteGuard } from "./byte-guard.ts";
import type { Decoder, Faults } from "./protocol.ts";
import { createSseParser } from "./sse.ts";
import type { Frame } from "./sse.ts";

/** Bytes of an error answer that are read, to recognise it. */
export const maxErrorBody = 64 * 1024;

/** How long the usage chunk behind the end of a reply is awaited (MO-15), in milliseconds. */
const usageWait = 5_000;

type Reader = ReadableStreamDefaultReader<Uint8Array>;
type Read = ReadableStreamReadResult<Uint8Array>;

/** Makes the errors of one attempt's stream. */
export const faultsOf = (origin: Origin, headers: Headers, now: () => number): Faults => ({
  inBand: (body, status) => new ModelError(classify({ status, headers, body }, origin, now())),
  broken: (sentence) => modelError("protocol_error", origin, `The provider's stream is broken: ${sentence}.`),
});

/** What an SDK throws for an HTTP error: both take the same form. */
interface SdkError {
  readonly status: number;
  readonly headers: Headers;
  readonly error?: Json;
  readonly message: string;
}

const isSdkError = (error: unknown): error is SdkError =>
  error instanceof Error &&
  "status" in error &&
  typeof error.status === "number" &&
  "headers" in error &&
  error.headers instanceof Headers;

const causeOf = (error: unknown): unknown => (error instanceof Error ? error.cause : undefined);

/** The failure behind whatever sending threw (MO-25): an HTTP error by its answer, a refusal of the egress, else the network's. */
export const sendFailure = (error: unknown, origin: Origin, signal: AbortSignal, now: number): ModelError => {
  if (signal.aborted) return asModelError(signal.reason, origin, signal);
  for (let each = error; each !== undefined; each = causeOf(each)) {
    if (each instanceof ModelError) return each;
    if (each instanceof EgressError) return modelError("invalid_request", origin, each.message);
    if (isSdkError(each)) {
      const { status, headers, error: body, message } = each;
      return new ModelError(classify({ status, headers, body: body ?? message }, origin, now));
    }
  }
  return asModelError(error, origin, signal);
};

const hasError = (body: string): boolean => {
  try {
    const value: unknown = JSON.parse(body);
    const first: unknown = Array.isArray(value) ? value[0] : value;
    return typeof first === "object" && first !== null && "error" in first && first.error !== null;
  } catch {
    return false;
  }
};

/** Refuses an answer of status 200 that is no event stream: an error in JSON by what it says, the rest as not understood (MO-19). */
export const checkStream = async (
  response: Response,
  faults: Faults,
): Promise<ReadableStream<Uint8Array>> => {
  const type = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (type === "text/event-stream" && response.body !== null) return response.body;
  const { bytes } = await readCapped(response.body, maxErrorBody);
  const body = new TextDecoder().decode(bytes);
  if (hasError(body)) throw faults.inBand(body);
  const what = /^[a-z0-9.+-]{1,40}\/[a-z0-9.+-]{1,60}$/.test(type) ? type : "no content type";
  throw faults.broken(`${what} instead of text/event-stream`);
};

/** Ends a body that was read to its logical end: a server that closes now keeps its connection usable. */
const release = (reader: Reader): void => {
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  const timer = setTimeout(cancel, 1_000);
  const last = reader.read().then(
    ({ done }) => (done ? undefined : cancel()),
    () => undefined,
  );
  void last.finally(() => clearTimeout(timer));
};

/** A read, or the end of the stream once `ms` have passed. */
const readWithin = (reader: Reader, ms: number): Promise<Read> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve({ done: true, value: undefined }), ms);
    reader
      .read()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });

interface Batch {
  readonly events: ModelEvent[];
  /** What stopped the decoding; the events before it still count. */
  readonly error?: unknown;
}

const decode = (decoder: Decoder, frames: readonly Frame[]): Batch => {
  const events: ModelEvent[] = [];
  try {
    for (const frame of frames) decoder.frame(frame, events);
    return { events };
  } catch (error) {
    return { events, error };
  }
};

const isWhole = ({ data }: Frame): boolean => {
  try {
    JSON.parse(data);
    return true;
  } catch {
    return data === "[DONE]";
  }
};

const isContent = ({ type }: ModelEvent): boolean => type !== "ping";

/**
 * The events of a reply, one batch per network read (MO-2): bytes counted (MO-20), frames parsed, deadlines told.
 * The SDKs' own iteration of a stream is not used: it makes a promise chain of each delta, logs broken frames, and
 * takes a cut stream for a whole one.
 */
export async function* readReply(
  body: ReadableStream<Uint8Array>,
  decoder: Decoder,
  faults: Faults,
  deadlines: Pick<Deadlines, "read">,
): AsyncGenerator<readonly ModelEvent[]> {
  const reader = body.getReader();
  const guard = createByteGuard();
  const parser = createSseParser();
  let whole = false;
  try {
    while (decoder.state() !== "done") {
      const { done, value } = await (decoder.state() === "open"
        ? reader.read()
        : readWithin(reader, usageWait));
      if (done) {
        // A last frame without its blank line counts; one that was cut off is left to the missing end.
        const rest = decode(decoder, parser.end().filter(isWhole));
        if (rest.events.length > 0) yield rest.events;
        if (rest.error !== undefined) throw rest.error;
        return;
      }
      const broken = guard(value);
      if (broken !== null) throw faults.broken(`the ${broken} is longer than its limit`);
      const batch = decode(decoder, parser.feed(value));
      deadlines.read(batch.events.some(isContent));
      if (batch.events.length > 0) yield batch.events;
      if (batch.error !== undefined) throw batch.error;
    }
    whole = true;
  } finally {
    if (whole) release(reader);
    else await reader.cancel().catch(() => undefined);
  }
}
