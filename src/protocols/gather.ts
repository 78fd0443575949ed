/** Reads a body ahead and hands out at once whatever has come in the meantime; who shows it sets the pace. */
export interface Gatherer {
  /** The chunks since the last call, once there are some; null at the end, and after `within` milliseconds without any. */
  readonly next: (within?: number) => Promise<readonly Uint8Array[] | null>;
  /** Ends the reading. A whole body gets a moment to end by itself, which keeps its connection usable. */
  readonly stop: (whole: boolean) => Promise<void>;
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** Bytes that may wait before the reading pauses. */
const maxWaiting = 1024 * 1024;
const lingerMs = 1_000;
const nothing = (): void => undefined;

/** What was read and not yet handed out; mutable, owned by one reply. */
interface Inbox {
  chunks: Uint8Array[];
  bytes: number;
  ended: boolean;
  error: unknown;
  stopped: boolean;
  /** Called when something came, and when there is room again. */
  arrived: () => void;
  drained: () => void;
}

const pump = async (reader: Reader, inbox: Inbox): Promise<void> => {
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

/** Resolves true once something came, false after `ms` milliseconds. */
const arrival = (inbox: Inbox, ms: number | undefined): Promise<boolean> =>
  new Promise((resolve) => {
    const settle = (ready: boolean): void => {
      clearTimeout(timer);
      inbox.arrived = nothing;
      resolve(ready);
    };
    const timer = ms === undefined ? undefined : setTimeout(() => settle(false), ms);
    inbox.arrived = () => settle(true);
  });

const empty = (inbox: Inbox): readonly Uint8Array[] => {
  const { chunks } = inbox;
  inbox.chunks = [];
  inbox.bytes = 0;
  inbox.drained();
  return chunks;
};

const stopReading = async (
  reader: Reader,
  inbox: Inbox,
  reading: Promise<void>,
  whole: boolean,
): Promise<void> => {
  inbox.stopped = true;
  inbox.drained();
  if (inbox.ended) return;
  const cancel = (): Promise<void> => reader.cancel().catch(nothing);
  if (!whole) return cancel();
  const timer = setTimeout(() => void cancel(), lingerMs);
  void reading.then(() => clearTimeout(timer));
};

export const createGatherer = (body: ReadableStream<Uint8Array>): Gatherer => {
  const reader = body.getReader();
  const inbox: Inbox = {
    chunks: [],
    bytes: 0,
    ended: false,
    error: undefined,
    stopped: false,
    arrived: nothing,
    drained: nothing,
  };
  const end = (error?: unknown): void => {
    inbox.ended = true;
    inbox.error = error;
    inbox.arrived();
  };
  const reading = pump(reader, inbox).then(
    () => end(),
    (error: unknown) => end(error ?? new Error("the stream failed")),
  );
  const next = async (within?: number): Promise<readonly Uint8Array[] | null> => {
    if (inbox.bytes === 0 && !inbox.ended && !(await arrival(inbox, within))) return null;
    const chunks = empty(inbox);
    if (chunks.length === 0 && inbox.error !== undefined) throw inbox.error;
    return chunks.length === 0 ? null : chunks;
  };
  return { next, stop: (whole) => stopReading(reader, inbox, reading, whole) };
};
