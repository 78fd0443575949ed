import type { Lock } from "../../src/driver/host.ts";
import { createLock } from "../../src/driver/host.ts";
import type { Session } from "../../src/agent/state/session.ts";
import { fieldsOf } from "../../src/chat/json.ts";
import { parseParams } from "../../src/session/define-operation.ts";
import { clientFrameSchema, closeCodes, commandIdOf, streamLimits } from "../../src/session/frames.ts";
import { parseInput } from "../../src/session/mistakes.ts";
import { accessProblem } from "../../src/session/operations/session.ts";
import type { Problem } from "../../src/session/problems.ts";
import {
  missingSession,
  problemBody,
  ProblemError,
  problemKinds,
  refuse,
} from "../../src/session/problems.ts";
import type { Principal } from "../../src/session/rpc.ts";
import type { FrameParts } from "./frames.ts";
import { handleFrame, rejectFrame } from "./frames.ts";

/** Opens a session's sockets and checks their messages. */
interface SocketHandler {
  readonly open: (ctx: DurableObjectState, session: Session | null, principal: Principal | null) => Response;
  readonly receive: (socket: WebSocket, data: string | ArrayBuffer) => Promise<void>;
  readonly handleClose: (socket: WebSocket) => void;
  readonly closeDeleted: (sockets: readonly WebSocket[]) => void;
}

/** Answers an upgrade that is refused. */
export const refuseSocket = (problem: Problem): Response =>
  Response.json(problemBody(problem), { status: problemKinds[problem.code].status });

/** Returns why a socket may not be opened; null if it may. */
const findOpenProblem = (
  session: Session | null,
  principal: Principal | null,
  open: number,
): Problem | null => {
  if (principal === null) return missingSession;
  const hidden = accessProblem(session, principal);
  if (hidden !== null) return hidden;
  if (!principal.scopes.includes("sessions:read"))
    return { code: "scope_missing", detail: "this needs the scope sessions:read" };
  if (open < streamLimits.sockets) return null;
  const detail = `a session takes ${streamLimits.sockets} sockets; close some`;
  return { code: "too_many_connections", detail };
};

const openSockets = (ctx: DurableObjectState): readonly WebSocket[] =>
  ctx.getWebSockets().filter(({ readyState }) => readyState === WebSocket.OPEN);

/** Closes sockets that pinged and do so no more: a network that is gone, as of a reloaded page, tells of no close. */
const closeQuiet = (ctx: DurableObjectState, connections: FrameParts["connections"]): void => {
  for (const socket of openSockets(ctx)) {
    const pinged = ctx.getWebSocketAutoResponseTimestamp(socket);
    if (pinged !== null && pinged.getTime() < Date.now() - streamLimits.quiet)
      connections.closeWithNotice(socket, closeCodes.timeout, "no ping");
  }
};

/** Creates a token bucket per socket, for 30 frames a second and 60 at once. */
const createRateLimit = (): ((socket: WebSocket) => boolean) => {
  const buckets = new WeakMap<WebSocket, { readonly tokens: number; readonly at: number }>();
  return (socket) => {
    const now = Date.now();
    const known = buckets.get(socket) ?? { tokens: streamLimits.burst, at: now };
    const grown = known.tokens + (Math.max(0, now - known.at) / 1_000) * streamLimits.rate;
    const tokens = Math.min(streamLimits.burst, grown) - 1;
    buckets.set(socket, { tokens, at: now });
    return tokens >= 0;
  };
};

/** Returns whether a frame counts for its socket's rate; the frames of the protocol itself do not. */
const isCounted = (frame: unknown): boolean => {
  const { type } = fieldsOf(frame);
  return type !== "ack" && type !== "ping";
};

/** Runs the work of each socket in the order of its messages, one by one, since a frame may wait for the team. */
const createSocketQueue = (): ((socket: WebSocket, work: () => Promise<void>) => Promise<void>) => {
  const locks = new WeakMap<WebSocket, Lock>();
  return (socket, work) => {
    const lock = locks.get(socket) ?? createLock();
    locks.set(socket, lock);
    return lock(work);
  };
};

/** Returns the frames of one message. */
const framesOf = (data: string): readonly unknown[] => {
  const parsed = parseInput(data, "frame");
  return Array.isArray(parsed) ? parsed : [parsed];
};

const utf8 = new TextEncoder();

/** Returns the text of a message; bytes and overlong texts are refused. */
const messageTextOf = (data: string | ArrayBuffer): string => {
  const most = streamLimits.frame;
  const fits =
    typeof data === "string" &&
    data.length <= most &&
    (data.length * 3 <= most || utf8.encode(data).length <= most);
  return fits ? data : refuse("invalid_request", "frames are JSON text of at most 256 KiB");
};

type Attempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: unknown };

const attempt = <T>(read: () => T): Attempt<T> => {
  try {
    return { ok: true, value: read() };
  } catch (fault) {
    return { ok: false, fault };
  }
};

/** Refuses what a socket sent, for the command with this id if it is one, and closes the socket. */
const refuseFrame = (parts: FrameParts, socket: WebSocket, fault: unknown, id?: string): void => {
  if (!(fault instanceof ProblemError)) throw fault;
  rejectFrame(parts, socket, fault.problem, id);
  parts.connections.closeWithNotice(socket, closeCodes.bad_frame, "bad frame");
};

export const createSocketHandler = (parts: FrameParts): SocketHandler => {
  const { connections, hellos } = parts;
  const withinRate = createRateLimit();
  const inTurn = createSocketQueue();
  const closeDeleted = (socket: WebSocket): void =>
    connections.closeWithNotice(socket, closeCodes.deleted, "deleted");

  /** Handles frames until one of them closes the socket; `more` means that further frames exceeded the limit. */
  const handle = async (socket: WebSocket, frames: readonly unknown[], more: boolean): Promise<void> => {
    for (const frame of frames) {
      if (socket.readyState !== WebSocket.OPEN) return;
      const parsed = attempt(() => parseParams(clientFrameSchema, frame));
      if (!parsed.ok) return refuseFrame(parts, socket, parsed.fault, commandIdOf(frame));
      await handleFrame(parts, socket, parsed.value);
    }
    if (more && socket.readyState === WebSocket.OPEN)
      connections.closeWithNotice(socket, closeCodes.rate, "too many frames");
  };
  const takeAll = async (socket: WebSocket, data: string | ArrayBuffer): Promise<void> => {
    const all = attempt(() => framesOf(messageTextOf(data)));
    if (!all.ok) return refuseFrame(parts, socket, all.fault);
    const frames = all.value.filter((frame) => !isCounted(frame) || withinRate(socket));
    const more = frames.length < all.value.length;
    await inTurn(socket, () => handle(socket, frames, more));
  };

  return {
    open: (ctx, now, principal) => {
      if (openSockets(ctx).length >= streamLimits.sockets) closeQuiet(ctx, connections);
      const problem = findOpenProblem(now, principal, openSockets(ctx).length);
      if (problem !== null) return refuseSocket(problem);
      const pair = new WebSocketPair();
      ctx.acceptWebSocket(pair[1]);
      connections.change(pair[1], { principal });
      hellos.expect(pair[1]);
      parts.watchExpiry();
      return new Response(null, { status: 101, webSocket: pair[0] });
    },
    receive: async (socket, data) => {
      if ((await parts.wake()) === null) return closeDeleted(socket);
      if (connections.closeIfExpired(socket)) return;
      await takeAll(socket, data);
    },
    handleClose: (socket) => {
      connections.forget(socket);
      hellos.forget(socket);
      // Hibernating sockets do not answer a close themselves.
      if (socket.readyState === WebSocket.CLOSING) socket.close(1_000);
      parts.watchExpiry();
    },
    closeDeleted: (sockets) => sockets.forEach(closeDeleted),
  };
};
