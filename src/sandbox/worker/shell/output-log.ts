import type { Stream } from "./shell.ts";

/** Most bytes of one event. */
export const eventBytes = 32 * 1024;

export interface LoggedOutput {
  readonly seq: number;
  readonly stream: Stream;
  readonly data: Uint8Array;
}

/** Output of one command: whole up to the limit, beyond it head and tail of each stream with a marker between. */
export interface OutputLog {
  readonly append: (stream: Stream, bytes: Uint8Array) => void;
  /** Returns the kept output after an event, in order. */
  readonly after: (seq: number) => readonly LoggedOutput[];
  /** Returns the part of it that is kept whatever follows: up to the first event of a tail. */
  readonly settledAfter: (seq: number) => readonly LoggedOutput[];
  readonly last: () => number;
  readonly truncated: () => boolean;
}

interface StreamLog {
  readonly add: (event: LoggedOutput) => void;
  readonly kept: () => readonly LoggedOutput[];
  readonly omitted: () => number;
  /** Returns the number of the first event that was not kept in the head. */
  readonly headEnd: () => number;
}

function createStreamLog(stream: Stream, limit: number): StreamLog {
  const head: LoggedOutput[] = [];
  const tail: LoggedOutput[] = [];
  let headBytes = 0;
  let tailBytes = 0;
  let omitted = 0;
  let marker = 0;
  let headEnd = Infinity;
  return {
    add: (event) => {
      if (tail.length === 0 && headBytes + event.data.length <= limit) {
        head.push(event);
        headBytes += event.data.length;
        return;
      }
      headEnd = Math.min(headEnd, event.seq);
      tail.push(event);
      tailBytes += event.data.length;
      for (let oldest = tail[0]; oldest !== undefined && tailBytes > limit; oldest = tail[0]) {
        tail.shift();
        tailBytes -= oldest.data.length;
        omitted += oldest.data.length;
        marker = oldest.seq;
      }
    },
    kept: () => {
      if (omitted === 0) return [...head, ...tail];
      const data = new TextEncoder().encode(`\n[${omitted} bytes not kept]\n`);
      return [...head, { seq: marker, stream, data }, ...tail];
    },
    omitted: () => omitted,
    headEnd: () => headEnd,
  };
}

/** Returns where a piece of at most so many bytes ends: between two characters, if the bytes are UTF-8. */
const pieceEnd = (bytes: Uint8Array, start: number, most: number): number => {
  const end = start + most;
  const isBoundary = (at: number): boolean => at > start && ((bytes[at] ?? 0) & 0xc0) !== 0x80;
  return [end, end - 1, end - 2, end - 3].find(isBoundary) ?? end;
};

/** Creates a log that keeps `limit` bytes of head and tail of each stream, in events of at most a quarter of that. */
export function createOutputLog(limit: number): OutputLog {
  let last = 0;
  const most = Math.min(eventBytes, Math.max(1, Math.floor(limit / 4)));
  const streams = { stdout: createStreamLog("stdout", limit), stderr: createStreamLog("stderr", limit) };
  const after = (seq: number): readonly LoggedOutput[] =>
    [...streams.stdout.kept(), ...streams.stderr.kept()]
      .filter((event) => event.seq > seq)
      .sort((a, b) => a.seq - b.seq);
  return {
    append: (stream, bytes) => {
      for (let start = 0, end = 0; start < bytes.length; start = end) {
        end = pieceEnd(bytes, start, most);
        last += 1;
        streams[stream].add({ seq: last, stream, data: bytes.slice(start, end) });
      }
    },
    after,
    settledAfter: (seq) => {
      const end = Math.min(streams.stdout.headEnd(), streams.stderr.headEnd());
      return after(seq).filter((event) => event.seq < end);
    },
    last: () => last,
    truncated: () => streams.stdout.omitted() + streams.stderr.omitted() > 0,
  };
}
