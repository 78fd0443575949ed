import { limitForSocket } from "../../engine/access/authenticate.ts";
import type { Problem } from "../../session/problems.ts";
import { missingSession, ProblemError } from "../../session/problems.ts";
import { openSessionStub } from "../calls.ts";
import type { SessionRequestContext } from "../context.ts";
import { callWithRetry } from "../platform.ts";
import { readProblem } from "../problems.ts";

/** Opens the router's own WebSocket for SSE and `wait`, so that the session may hibernate meanwhile. */

/** Frame that a session sends. */
export interface ServerFrame {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface WatchHello {
  readonly after?: number;
  readonly deltas: "all" | "text" | "none";
  readonly types?: readonly string[];
  readonly threads?: readonly string[];
}

/**
 * Batches of frames until the session or `close` ends them; asking for the next batch acknowledges the previous
 * one.
 */
export interface SessionWatch {
  readonly batches: AsyncGenerator<readonly ServerFrame[]>;
  /** Returns why the session ended the watch, once it has. */
  readonly ending: () => Problem;
  close(): void;
}

/** Number of frames, and of characters, after which an `ack` is due. */
const ackFrames = 100;

const ackCharacters = 256 * 1024;

const upgradeRequestOf = (context: SessionRequestContext): Request =>
  new Request("https://session/ws", {
    headers: {
      Upgrade: "websocket",
      "limpet-principal": JSON.stringify(limitForSocket(context.principal, context.router.now())),
      "limpet-session": context.session,
      traceparent: context.traceparent,
    },
  });

/** Returns the problem of a close code for a caller without a socket. */
function closeProblem(code: number): Problem {
  switch (code) {
    case 4400:
      return { code: "invalid_request", detail: "The session refused these stream parameters." };
    case 4401:
      return { code: "token_expired", detail: "The credential has expired: get a new one." };
    case 4403:
      return { code: "scope_missing", detail: "This credential may not watch the session." };
    case 4404:
    case 4410:
      return missingSession;
    case 4429:
      return { code: "too_many_connections", detail: "The session has too many watchers: close some." };
    default:
      return { code: "overloaded", detail: "The session closed the stream: try again.", retryAfterMs: 1000 };
  }
}

/** Opens a socket to the session without accepting it; throws the problem of a refused upgrade. */
export async function connectSocket(context: SessionRequestContext): Promise<WebSocket> {
  const response = await callWithRetry(
    () => openSessionStub(context, context.session).fetch(upgradeRequestOf(context)),
    true,
  );
  if (response.webSocket !== null && response.webSocket !== undefined) return response.webSocket;
  const body: unknown = await response.json().catch(() => null);
  throw new ProblemError(readProblem(body));
}

const isFrame = (value: unknown): value is ServerFrame =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";

/** Returns the frames of one message, which is a frame or an array of frames. */
function framesOf(data: unknown): readonly ServerFrame[] {
  const value: unknown = typeof data === "string" ? JSON.parse(data) : null;
  return (Array.isArray(value) ? value : [value]).filter(isFrame);
}

interface FrameInbox {
  readonly messages: unknown[];
  ended: boolean;
  code: number;
  wake: () => void;
}

function listenToSocket(socket: WebSocket): FrameInbox {
  const inbox: FrameInbox = { messages: [], ended: false, code: 1006, wake: () => undefined };
  const end = (): void => {
    inbox.ended = true;
    inbox.wake();
  };
  socket.addEventListener("message", ({ data }) => {
    inbox.messages.push(data);
    inbox.wake();
  });
  socket.addEventListener("close", ({ code }) => {
    inbox.code = code;
    end();
  });
  socket.addEventListener("error", end);
  return inbox;
}

async function* batchesOf(socket: WebSocket, inbox: FrameInbox): AsyncGenerator<readonly ServerFrame[]> {
  let received = 0;
  let acked = 0;
  let characters = 0;
  for (;;) {
    const message = inbox.messages.shift();
    if (message === undefined) {
      if (inbox.ended) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      inbox.wake = resolve;
      await promise;
      continue;
    }
    const frames = framesOf(message);
    yield frames;
    received += frames.length;
    characters += typeof message === "string" ? message.length : 0;
    const due = received - acked >= ackFrames || characters >= ackCharacters;
    if (due && !inbox.ended) {
      socket.send(JSON.stringify({ type: "ack", frames: received }));
      acked = received;
      characters = 0;
    }
  }
}

/** Watches a session from `hello.after` on. */
export async function watchSession(context: SessionRequestContext, hello: WatchHello): Promise<SessionWatch> {
  const socket = await connectSocket(context);
  socket.accept();
  const inbox = listenToSocket(socket);
  socket.send(JSON.stringify({ type: "hello", ...hello }));
  // From the beginning the session waits for acknowledgements, so that what a stalled reader has not taken stays with it.
  socket.send(JSON.stringify({ type: "ack", frames: 0 }));
  return {
    batches: batchesOf(socket, inbox),
    ending: () => closeProblem(inbox.code),
    close() {
      inbox.ended = true;
      inbox.messages.length = 0;
      inbox.wake();
      socket.close(1000);
    },
  };
}

/** Reads the problem in an `error` frame. */
export const problemOfFrame = (frame: ServerFrame): ProblemError =>
  new ProblemError(readProblem("problem" in frame ? frame["problem"] : frame));

/** Durable event inside an `event` frame. */
interface EventInFrame {
  readonly seq: number;
  readonly type: string;
  readonly run?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Reads the envelope of an `event` frame; returns null for any other frame. */
export const eventOfFrame = (frame: ServerFrame): EventInFrame | null =>
  frame.type === "event" ? (frame["event"] as EventInFrame) : null;
