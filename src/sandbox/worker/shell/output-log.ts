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
  readonly last: () => number;
  readonly truncated: () => boolean;
}

interface StreamLog {
  readonly add: (event: LoggedOutput) => void;
  readonly kept: () => readonly LoggedOutput[];
  readonly omitted: () => number;
}

function createStreamLog(stream: Stream, limit: number): StreamLog {
  const head: LoggedOutput[] = [];
  const tail: LoggedOutput[] = [];
  let headBytes = 0;
  let tailBytes = 0;
  let omitted = 0;
  let marker = 0;
  return {
    add: (event) => {
      if (tail.length === 0 && headBytes + event.data.length <= limit) {
        head.push(event);
        headBytes += event.data.length;
        return;
      }
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
      const data = new TextEncoder().encode(`\n[${omitted} bytes omitted]\n`);
      return [...head, { seq: marker, stream, data }, ...tail];
    },
    omitted: () => omitted,
  };
}

/** Creates a log that keeps `limit` bytes of head and tail of each stream, in events of at most a quarter of that. */
export function createOutputLog(limit: number): OutputLog {
  let last = 0;
  const most = Math.min(eventBytes, Math.max(1, Math.floor(limit / 4)));
  const streams = { stdout: createStreamLog("stdout", limit), stderr: createStreamLog("stderr", limit) };
  return {
    append: (stream, bytes) => {
      for (let start = 0; start < bytes.length; start += most) {
        last += 1;
        streams[stream].add({ seq: last, stream, data: bytes.slice(start, start + most) });
      }
    },
    after: (seq) =>
      [...streams.stdout.kept(), ...streams.stderr.kept()]
        .filter((event) => event.seq > seq)
        .sort((a, b) => a.seq - b.seq),
    last: () => last,
    truncated: () => streams.stdout.omitted() + streams.stderr.omitted() > 0,
  };
}
