import { randomBytes } from "node:crypto";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import type { Socket } from "node:net";

/** A client that costs as little as possible: raw WebSocket frames over TCP, one JSON scan for what ends a wait. */

const agent = new Agent({ keepAlive: true, maxSockets: 256 });

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** Milliseconds until the first byte of the body. */
  readonly firstByteMs: number;
}

/** One HTTP request to a server on this machine. */
export const call = (port: number, method: string, path: string, body?: unknown): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const text = body === undefined ? "" : JSON.stringify(body);
    const headers =
      body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
    const sent = request({ host: "127.0.0.1", port, method, path, agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      let firstByteMs = 0;
      response.on("data", (chunk: Buffer) => {
        if (chunks.length === 0) firstByteMs = performance.now() - startedAt;
        chunks.push(chunk);
      });
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          text: Buffer.concat(chunks).toString("utf8"),
          firstByteMs,
        }),
      );
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(text);
  });

export interface Line {
  send(frame: object): void;
  /** Resolves once this many runs have ended on this socket since it was opened. */
  ended(runs: number): Promise<void>;
  /** Resolves when the stream is live. */
  live(): Promise<void>;
  /** Bytes and frames received so far. */
  readonly seen: { bytes: number; frames: number; messages: number; deltas: number; ends: number };
  /** Milliseconds from the writing of each paced delta to the frame that brought it, in order. */
  readonly delays: readonly number[];
  /** Keeps the messages that come from now on. */
  record(): readonly string[];
  close(): void;
}

const ackFrames = 100;
const ackBytes = 262_144;

export const masked = (text: string): Buffer => {
  const payload = Buffer.from(text);
  const { length } = payload;
  const head =
    length < 126 ? Buffer.from([0x81, 0x80 | length]) : Buffer.from([0x81, 0xfe, length >> 8, length & 255]);
  // An all-zero mask is a mask like any other, and leaves the payload as it is.
  return Buffer.concat([head, Buffer.alloc(4), payload]);
};

/** Cuts messages out of the bytes of a server; control frames are dropped. */
export const createParser = (take: (text: string) => void) => {
  let rest: Buffer = Buffer.alloc(0);
  let parts: Buffer[] = [];
  const one = (): boolean => {
    if (rest.length < 2) return false;
    const first = rest[0] ?? 0;
    let length = (rest[1] ?? 0) & 127;
    let at = 2;
    if (length === 126) [length, at] = rest.length < 4 ? [Infinity, 4] : [rest.readUInt16BE(2), 4];
    else if (length === 127)
      [length, at] = rest.length < 10 ? [Infinity, 10] : [Number(rest.readBigUInt64BE(2)), 10];
    if (rest.length < at + length) return false;
    const payload = rest.subarray(at, at + length);
    rest = rest.subarray(at + length);
    if ((first & 15) > 2) return true;
    parts.push(payload);
    if ((first & 128) === 0) return true;
    take(Buffer.concat(parts).toString("utf8"));
    parts = [];
    return true;
  };
  return (chunk: Buffer): void => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (one());
  };
};

const countOf = (text: string, needle: string): number => {
  let count = 0;
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) count += 1;
  return count;
};

const handshake = (socket: Socket, port: number, path: string): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    const more = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      socket.off("data", more);
      if (head.toString("latin1", 0, 12) === "HTTP/1.1 101") resolve(head.subarray(end + 4));
      else reject(new Error(head.toString("utf8")));
    };
    socket.on("data", more);
    socket.on("error", reject);
    const key = randomBytes(16).toString("base64");
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
  });

/** Reads the times that paced deltas carry; the completed text, which repeats them, brings nothing new. */
const createClock = (delays: number[]) => {
  let newest = 0n;
  return (text: string): void => {
    const now = process.hrtime.bigint() / 1_000n;
    for (const [, written = "0"] of text.matchAll(/@(\d+);/g)) {
      const at = BigInt(written);
      if (at <= newest) continue;
      newest = at;
      delays.push(Number(now - at) / 1_000);
    }
  };
};

/** Opens a session's socket and says hello; without `after` only what comes from now on is sent. */
export const openLine = async (port: number, session: string, after: number): Promise<Line> => {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  const rest = await handshake(socket, port, `/v1/sessions/${session}/ws`);
  const seen = { bytes: 0, frames: 0, messages: 0, deltas: 0, ends: 0 };
  const delays: number[] = [];
  const readTimes = createClock(delays);
  const acked = { frames: 0, bytes: 0 };
  const waits: { readonly runs: number; readonly wake: () => void; readonly fail: (error: Error) => void }[] =
    [];
  const live = Promise.withResolvers<void>();
  let recorded: string[] | null = null;
  const parse = createParser((text) => {
    recorded?.push(text);
    if (text.includes("@")) readTimes(text);
    seen.messages += 1;
    seen.bytes += text.length;
    seen.frames += text.startsWith("[") ? (JSON.parse(text) as unknown[]).length : 1;
    if (seen.frames - acked.frames >= ackFrames || seen.bytes - acked.bytes >= ackBytes) {
      Object.assign(acked, { frames: seen.frames, bytes: seen.bytes });
      socket.write(masked(`{"type":"ack","frames":${seen.frames}}`));
    }
    seen.deltas += countOf(text, '"type":"delta"');
    if (text.includes('"type":"live"')) live.resolve();
    if (/"type":"(error|bye|lag)"/.test(text)) console.error(text.slice(0, 2_000));
    // A refused order has no end that anybody could wait for.
    if (text.startsWith('{"type":"error"')) for (const { fail } of waits) fail(new Error(text));
    const ends = countOf(text, '"type":"run_end"');
    if (ends === 0) return;
    seen.ends += ends;
    for (const { runs, wake } of waits) if (seen.ends >= runs) wake();
  });
  parse(rest);
  socket.on("data", parse);
  socket.on("close", () => {
    const lost = new Error(`the socket of ${session} was closed`);
    live.reject(lost);
    for (const { fail } of waits) fail(lost);
  });
  live.promise.catch(() => undefined);
  const line: Line = {
    seen,
    delays,
    send: (frame) => void socket.write(masked(JSON.stringify(frame))),
    ended: (runs) =>
      seen.ends >= runs ? Promise.resolve() : new Promise((wake, fail) => waits.push({ runs, wake, fail })),
    live: () => live.promise,
    record: () => (recorded = []),
    close: () => socket.destroy(),
  };
  line.send({ type: "hello", after, deltas: "all" });
  return line;
};
