import { deepestInput, depthOf } from "../src/chat/json-depth.ts";
import { belongsTo } from "../src/agent/commands/session.ts";
import { clientFrame, closeCodes, streamLimits } from "../src/agent/frames.ts";
import type { Problem } from "../src/agent/problem.ts";
import { problemBody, problemKinds } from "../src/agent/problem-body.ts";
import type { Principal } from "../src/agent/rpc.ts";
import type { Session } from "../src/agent/state.ts";
import { handleFrame, rejectFrame } from "./socket-frames.ts";
import type { FrameParts } from "./socket-frames.ts";

/** Where a session's sockets are opened, and their messages checked (AP-22, AP-25). */
export interface SocketDesk {
  readonly open: (ctx: DurableObjectState, session: Session | null, principal: Principal | null) => Response;
  readonly receive: (socket: WebSocket, data: string | ArrayBuffer) => Promise<void>;
  readonly closed: (socket: WebSocket) => void;
  readonly removed: (sockets: readonly WebSocket[]) => void;
}

const refusal = (problem: Problem): Response =>
  Response.json(problemBody(problem), { status: problemKinds[problem.code].status });

/** Why a socket may not be opened; null if it may. */
const openProblem = (session: Session | null, principal: Principal | null, open: number): Problem | null => {
  if (session === null || principal === null || !belongsTo(session, principal))
    return { code: "not_found", detail: "no such session" };
  if (!principal.scopes.includes("sessions:read"))
    return { code: "scope_missing", detail: "this needs the scope sessions:read" };
  if (open < streamLimits.sockets) return null;
  const detail = `a session takes ${streamLimits.sockets} sockets; close some`;
  return { code: "too_many_connections", detail };
};

/** A token bucket per socket: 30 frames a second, 60 at once. */
const createRates = (): ((socket: WebSocket) => boolean) => {
  const buckets = new WeakMap<WebSocket, { readonly tokens: number; readonly at: number }>();
  return (socket) => {
    const now = Date.now();
    const known = buckets.get(socket) ?? { tokens: streamLimits.burst, at: now };
    const grown = known.tokens + ((now - known.at) / 1_000) * streamLimits.rate;
    const tokens = Math.min(streamLimits.burst, grown) - 1;
    buckets.set(socket, { tokens, at: now });
    return tokens >= 0;
  };
};

const framesOf = (data: string): readonly unknown[] => {
  let parsed: unknown;
  if (depthOf(data) > deepestInput) return [undefined];
  try {
    parsed = JSON.parse(data);
  } catch {
    parsed = undefined;
  }
  return Array.isArray(parsed) ? parsed : [parsed];
};

const utf8 = new TextEncoder();

/** The text of a message that is not too long; null if it is no text, or too long. */
const textOf = (data: string | ArrayBuffer): string | null => {
  if (typeof data !== "string" || data.length > streamLimits.frame) return null;
  const mayBeLong = data.length * 3 > streamLimits.frame;
  return mayBeLong && utf8.encode(data).length > streamLimits.frame ? null : data;
};

export const createSocketDesk = (parts: FrameParts): SocketDesk => {
  const { connections, session } = parts;
  const withinRate = createRates();

  const bad = (socket: WebSocket, detail: string): void => {
    rejectFrame(parts, socket, { code: "invalid_request", detail });
    connections.bye(socket, closeCodes.bad_frame, "bad frame");
  };
  /** Handles one frame; false if the socket was closed over it. */
  const take = async (socket: WebSocket, value: unknown): Promise<boolean> => {
    if (!withinRate(socket)) {
      connections.bye(socket, closeCodes.rate, "too many frames");
      return false;
    }
    const frame = clientFrame.safeParse(value);
    if (frame.success) await handleFrame(parts, socket, frame.data);
    else bad(socket, frame.error.issues[0]?.message ?? "unknown frame");
    return frame.success && socket.readyState === WebSocket.OPEN;
  };

  return {
    open: (ctx, now, principal) => {
      const problem = openProblem(now, principal, ctx.getWebSockets().length);
      if (problem !== null) return refusal(problem);
      const pair = new WebSocketPair();
      ctx.acceptWebSocket(pair[1]);
      connections.change(pair[1], { principal });
      return new Response(null, { status: 101, webSocket: pair[0] });
    },
    receive: async (socket, data) => {
      if (session() === null) return socket.close(closeCodes.deleted, "deleted");
      if (connections.isExpired(socket)) return;
      const text = textOf(data);
      if (text === null) return bad(socket, "frames are JSON text of at most 256 KiB");
      for (const frame of framesOf(text)) if (!(await take(socket, frame))) return;
    },
    closed: (socket) => {
      connections.forget(socket);
      // Hibernating sockets do not answer a close themselves.
      if (socket.readyState === WebSocket.CLOSING) socket.close(1_000);
    },
    removed: (sockets) => {
      for (const socket of sockets) socket.close(closeCodes.deleted, "deleted");
    },
  };
};
