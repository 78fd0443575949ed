import type { Timers } from "../model/deadlines.ts";

/** Reader of a body that reads ahead and returns whatever has arrived in the meantime; the caller sets the pace. */
interface BodyGatherer {
  /**
   * Returns the chunks since the last call, once there are some; null at the end, and after `within` milliseconds
   * without any.
   */
  readonly next: (within?: number) => Promise<readonly Uint8Array[] | null>;
  /** Ends the reading. A whole body has a short time to end by itself, which keeps its connection usable. */
  readonly stop: (whole: boolean) => Promise<void>;
}

type AttemptTimers = Pick<Timers, "after">;

type BodyReader = ReadableStreamDefaultReader<Uint8Array>;

/** Bytes that may wait before the reading pauses. */
const maxWaiting = 1024 * 1024;

const lingerMs = 1_000;

const doNothing = (): void => undefined;

/** Bytes that were read but not yet returned; mutable and owned by one reply. */
interface ReadBuffer {
  chunks: Uint8Array[];
  bytes: number;
  ended: boolean;
  error: unknown;
  stopped: boolean;
  /** Called when bytes arrived, and when the buffer has space again. */
  arrived: () => void;
  drained: () => void;
}

const readAhead = async (reader: BodyReader, inbox: ReadBuffer): Promise<void> => {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    if (inbox.stopped) return reader.cancel();
    inbox.chunks.push(value);
    inbox.bytes += value.byteLength;
    inbox.arrived();
    if (inbox.bytes >= maxWaiting) await new Promise<void>((resolve) => void (inbox.drained = resolve));
  }
};

/** Resolves true once bytes arrived, false after `ms` milliseconds. */
const arrival = (inbox: ReadBuffer, timers: AttemptTimers, ms: number | undefined): Promise<boolean> =>
  new Promise((resolve) => {
    const settle = (ready: boolean): void => {
      timer?.cancel();
      inbox.arrived = doNothing;
      resolve(ready);
    };
    const timer = ms === undefined ? undefined : timers.after(ms, () => settle(false));
    inbox.arrived = () => settle(true);
  });

const takeChunks = (inbox: ReadBuffer): readonly Uint8Array[] => {
  const { chunks } = inbox;
  inbox.chunks = [];
  inbox.bytes = 0;
  inbox.drained();
  return chunks;
};

const stopReading = async (
  reader: BodyReader,
  inbox: ReadBuffer,
  reading: Promise<void>,
  timers: AttemptTimers,
  whole: boolean,
): Promise<void> => {
  inbox.stopped = true;
  inbox.drained();
  if (inbox.ended) return;
  const cancel = (): Promise<void> => reader.cancel().catch(doNothing);
  if (!whole) return cancel();
  const timer = timers.after(lingerMs, () => void cancel());
  void reading.then(timer.cancel);
};

export const createBodyGatherer = (body: ReadableStream<Uint8Array>, timers: AttemptTimers): BodyGatherer => {
  const reader = body.getReader();
  const inbox: ReadBuffer = {
    chunks: [],
    bytes: 0,
    ended: false,
    error: undefined,
    stopped: false,
    arrived: doNothing,
    drained: doNothing,
  };
  const end = (error?: unknown): void => {
    inbox.ended = true;
    inbox.error = error;
    inbox.arrived();
  };
  const reading = readAhead(reader, inbox).then(
    () => end(),
    (error: unknown) => end(error ?? new Error("the stream failed")),
  );
  const next = async (within?: number): Promise<readonly Uint8Array[] | null> => {
    if (inbox.bytes === 0 && !inbox.ended && !(await arrival(inbox, timers, within))) return null;
    const chunks = takeChunks(inbox);
    if (chunks.length === 0 && inbox.error !== undefined) throw inbox.error;
    return chunks.length === 0 ? null : chunks;
  };
  return { next, stop: (whole) => stopReading(reader, inbox, reading, timers, whole) };
};

/** Size limits of a streamed reply in bytes. */
const byteLimits = { line: 4 * 1024 * 1024, reply: 32 * 1024 * 1024 } as const;

const newline = 10;

/**
 * Creates the check of one reply's bytes before they are parsed; it returns the limit that a chunk exceeds, else
 * null. The result does not depend on how the bytes are cut into chunks.
 */
export const createByteGuard = (
  limits: { readonly line: number; readonly reply: number } = byteLimits,
): ((chunk: Uint8Array) => "line" | "reply" | null) => {
  let total = 0;
  let line = 0;
  return (chunk) => {
    total += chunk.byteLength;
    if (total > limits.reply) return "reply";
    const longest = longestLine(chunk, line, limits.line);
    const last = chunk.lastIndexOf(newline);
    line = last < 0 ? line + chunk.byteLength : chunk.byteLength - last - 1;
    return Math.max(longest, line) > limits.line ? "line" : null;
  };
};

/**
 * Returns the longest line that ends in the chunk, after `open` earlier bytes of its first line; 0 if none can be
 * too long.
 */
const longestLine = (chunk: Uint8Array, open: number, limit: number): number => {
  if (open + chunk.byteLength <= limit) return 0;
  let longest = 0;
  let start = -open;
  for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) {
    longest = Math.max(longest, at - start);
    start = at + 1;
  }
  return longest;
};
