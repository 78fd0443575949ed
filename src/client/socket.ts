import type { StreamEnd, StreamFrame, StreamQuery, TakeFrames } from "./frames.ts";
import { createDeferred } from "./plain.ts";

/** This file reads a session's stream from a WebSocket: it acknowledges what was taken, and notices a dead connection. */

const framesPerAck = 100;
const charactersPerAck = 256 * 1024;
/** `readyState` of an open socket. */
const openState = 1;
const pingEvery = 15_000;
/** A server that does not answer a ping in this time, or accepts a connection without a welcome, is given up. */
const wordWithin = 10_000;

/** A token of other characters cannot stand in a subprotocol, and is sent as the first frame. */
const subprotocolToken = /^[A-Za-z0-9._~+-]+$/;

export interface SocketOptions {
  /** The address of the session's WebSocket, with http or https. */
  readonly url: URL;
  readonly token: string | null;
  readonly query: StreamQuery;
  readonly WebSocket: typeof globalThis.WebSocket;
  readonly take: TakeFrames;
  readonly signal: AbortSignal;
}

/** Acknowledges what was taken. */
const createAcks = (send: (frame: object) => void) => {
  let received = 0;
  let acked = 0;
  let characters = 0;
  return (frames: readonly StreamFrame[], length: number): void => {
    received += frames.length;
    characters += length;
    const isAsked = frames.some(({ type }) => type === "lag");
    if (!isAsked && received - acked < framesPerAck && characters < charactersPerAck) return;
    send({ type: "ack", frames: received });
    acked = received;
    characters = 0;
  };
};

const openSocket = ({ url, token, WebSocket }: SocketOptions, isInProtocol: boolean): WebSocket =>
  new WebSocket(url.href.replace("http", "ws"), ["limpet.v1", ...(isInProtocol ? [`bearer.${token}`] : [])]);

const framesIn = (data: unknown): readonly StreamFrame[] => {
  const message: unknown = JSON.parse(String(data));
  return (Array.isArray(message) ? message : [message]) as readonly StreamFrame[];
};

/** Reads until the connection ends or the signal is aborted; rejects if no connection can even be tried. */
export const readSocket = async (options: SocketOptions): Promise<StreamEnd> => {
  const { token, query, take, signal } = options;
  const isInProtocol = token !== null && subprotocolToken.test(token);
  const socket = openSocket(options, isInProtocol);
  const { promise, resolve } = createDeferred<StreamEnd>();
  let opened = false;
  let problem: StreamEnd["problem"];
  let taken: Promise<void> = Promise.resolve();

  const send = (frame: object): void => {
    if (socket.readyState === openState) socket.send(JSON.stringify(frame));
  };
  const end = (code: number): void => {
    hear();
    clearInterval(pinging);
    signal.removeEventListener("abort", abort);
    resolve({ code, opened, problem });
  };
  const leave = (code: number): void => {
    end(code);
    socket.close(1000);
  };
  const abort = (): void => leave(1000);
  const die = (): void => leave(1006);
  let dying = setTimeout(die, wordWithin);
  const hear = (): void => clearTimeout(dying);
  // By the pings the server knows, too, who is there.
  const pinging = setInterval(() => {
    send({ type: "ping" });
    dying = setTimeout(die, wordWithin);
  }, pingEvery);
  const acknowledge = createAcks(send);
  const receive = async (data: unknown): Promise<void> => {
    const frames = framesIn(data);
    for (const frame of frames) {
      if (frame.type === "welcome") opened = true;
      if (frame.type === "error") problem = frame.problem;
    }
    if (opened) hear();
    await take(frames);
    acknowledge(frames, String(data).length);
  };
  socket.addEventListener("open", () => {
    if (token !== null && !isInProtocol) send({ type: "auth", token });
    send({ type: "hello", ...query });
    send({ type: "ping" });
  });
  socket.addEventListener("message", ({ data }) => {
    if (opened) hear();
    taken = taken.then(() => receive(data)).catch(abort);
  });
  // What came before the end is taken before the end is told.
  socket.addEventListener("close", ({ code }) => void taken.then(() => end(code)));
  socket.addEventListener("error", () => undefined);
  signal.addEventListener("abort", abort);
  if (signal.aborted) abort();
  return promise;
};
