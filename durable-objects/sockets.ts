import type { Json } from "../src/chat/message.ts";
import type { Archive } from "../src/agent/commands/command.ts";
import { snapshotOf } from "../src/agent/commands/queries.ts";
import { belongsTo } from "../src/agent/commands/session.ts";
import { clientFrame, closeCodes, eventFrame, passes, streamLimits } from "../src/agent/frames.ts";
import type { ClientFrame } from "../src/agent/frames.ts";
import type { Problem } from "../src/agent/problem.ts";
import { problemBody, problemKinds } from "../src/agent/problem-body.ts";
import type { Operation, Principal, SessionCall, SessionReply, TeamRpc } from "../src/agent/rpc.ts";
import type { Session } from "../src/agent/state.ts";
import type { Items } from "./items.ts";
import type { Watchers } from "./watchers.ts";

/** Where a session's sockets are opened and their frames answered (AP-22, AP-23). */
export interface SocketDesk {
  readonly open: (ctx: DurableObjectState, session: Session | null, principal: Principal | null) => Response;
  readonly receive: (socket: WebSocket, data: string | ArrayBuffer) => Promise<void>;
  readonly closed: (socket: WebSocket) => void;
  readonly removed: (sockets: readonly WebSocket[]) => void;
  readonly items: () => Json;
}

interface Parts {
  readonly watchers: Watchers;
  readonly items: Items;
  readonly archive: () => Archive;
  readonly perform: (call: SessionCall) => Promise<SessionReply>;
  readonly session: () => Session | null;
  readonly authenticate: TeamRpc["authenticate"];
}

const refusal = (problem: Problem): Response =>
  Response.json(problemBody(problem), { status: problemKinds[problem.code].status });

type Command = Extract<ClientFrame, { type: "send" | "withdraw" | "answer" | "cancel" }>;

const callOf = (frame: Command): { readonly op: Operation; readonly params: unknown } => {
  switch (frame.type) {
    case "send":
      return { op: "send", params: frame.input };
    case "withdraw":
      return { op: "withdraw", params: { input: frame.input } };
    case "answer":
      return { op: "answer", params: { ...frame.answer, ask: frame.ask } };
    case "cancel":
      return { op: "cancel", params: frame.cancel };
  }
};

export const createSocketDesk = ({
  watchers,
  items,
  archive,
  perform,
  session,
  authenticate,
}: Parts): SocketDesk => {
  const rates = new WeakMap<WebSocket, { tokens: number; at: number }>();
  const head = (): number => session()?.head ?? 0;

  const itemStates = (): readonly Json[] =>
    items.open().map(({ id, kind, thread, attempt, text }) => ({
      type: "item_state",
      item: id,
      kind,
      thread,
      attempt,
      text,
    }));

  const reject = (socket: WebSocket, problem: Problem, id?: string): void =>
    watchers.send(socket, [
      JSON.stringify({ type: "error", ...(id === undefined ? {} : { id }), problem: problemBody(problem) }),
    ]);

  const bad = (socket: WebSocket, detail: string): void => {
    reject(socket, { code: "invalid_request", detail });
    watchers.bye(socket, closeCodes.bad_frame, "bad frame", head());
  };

  /** A token bucket per socket: 30 frames a second, 60 at once. */
  const withinRate = (socket: WebSocket): boolean => {
    const now = Date.now();
    const known = rates.get(socket) ?? { tokens: streamLimits.burst, at: now };
    const tokens =
      Math.min(streamLimits.burst, known.tokens + ((now - known.at) / 1_000) * streamLimits.rate) - 1;
    rates.set(socket, { tokens, at: now });
    return tokens >= 0;
  };

  const hello = (socket: WebSocket, frame: Extract<ClientFrame, { type: "hello" }>): void => {
    const now = session();
    if (now === null) return;
    const { after, deltas } = frame;
    if (after !== undefined && after > now.head) {
      reject(socket, {
        code: "cursor_ahead",
        detail: `after: the newest event is ${now.head}`,
        meta: { head_seq: now.head },
      });
      return watchers.bye(socket, closeCodes.bad_frame, "cursor ahead", now.head);
    }
    const filter = { deltas, types: frame.types ?? null, threads: frame.threads ?? null };
    const resume = after === undefined ? "snapshot" : "events";
    const welcome = {
      type: "welcome",
      session: now.id,
      head_seq: now.head,
      heartbeat_ms: streamLimits.heartbeat,
      resume,
      v: 1,
    };
    const replayed =
      after === undefined
        ? [`{"type":"snapshot","snapshot":${snapshotOf({ state: now, archive: archive() }, itemStates())}}`]
        : archive()
            .events({ after, limit: now.head - after })
            .filter((line) => passes(line, filter))
            .map(eventFrame);
    const states = deltas === "none" ? [] : itemStates().map((state) => JSON.stringify(state));
    watchers.send(socket, [
      JSON.stringify(welcome),
      ...replayed,
      ...states,
      JSON.stringify({ type: "live", seq: now.head }),
    ]);
    watchers.change(socket, { ...filter, ready: true, after: null });
  };

  const command = async (socket: WebSocket, frame: Command): Promise<void> => {
    const { principal } = watchers.viewer(socket);
    const now = session();
    if (principal === null || now === null) return;
    const reply = await perform({ principal, session: now.id, ...callOf(frame), key: frame.id });
    if (!reply.ok) return reject(socket, reply.problem, frame.id);
    watchers.send(socket, [
      `{"type":"result","id":${JSON.stringify(frame.id)},"seq":${reply.seq},"replayed":${reply.replayed},"result":${reply.json}}`,
    ]);
  };

  /** A new token for the same tenant and session keeps the socket (AP-13). */
  const renew = async (socket: WebSocket, token: string): Promise<void> => {
    const found = await authenticate(token);
    if (!found.ok) return reject(socket, found.problem);
    const now = session();
    if (now === null || !belongsTo(now, found.principal))
      return watchers.bye(socket, closeCodes.not_found, "not found", head());
    watchers.change(socket, { principal: found.principal });
  };

  const handle = async (socket: WebSocket, frame: ClientFrame): Promise<void> => {
    switch (frame.type) {
      case "hello":
        return hello(socket, frame);
      case "ack":
        return watchers.acknowledged(socket, frame.frames);
      case "set": {
        const { deltas, types, threads } = frame;
        return watchers.change(socket, {
          ...(deltas === undefined ? {} : { deltas }),
          ...(types === undefined ? {} : { types }),
          ...(threads === undefined ? {} : { threads }),
        });
      }
      case "ping":
        return watchers.send(socket, ['{"type":"pong"}']);
      case "auth":
        return renew(socket, frame.token);
      default:
        return command(socket, frame);
    }
  };

  const framesOf = (data: string): unknown => {
    try {
      return JSON.parse(data);
    } catch {
      return undefined;
    }
  };

  return {
    open: (ctx, now, principal) => {
      if (now === null || principal === null || !belongsTo(now, principal))
        return refusal({ code: "not_found", detail: "no such session" });
      if (!principal.scopes.includes("sessions:read"))
        return refusal({ code: "scope_missing", detail: "this needs the scope sessions:read" });
      if (ctx.getWebSockets().length >= streamLimits.sockets)
        return refusal({
          code: "too_many_connections",
          detail: `a session takes ${streamLimits.sockets} sockets; close some`,
        });
      const pair = new WebSocketPair();
      ctx.acceptWebSocket(pair[1]);
      watchers.change(pair[1], { principal });
      return new Response(null, { status: 101, webSocket: pair[0] });
    },
    receive: async (socket, data) => {
      if (session() === null) return socket.close(closeCodes.deleted, "deleted");
      if (typeof data !== "string" || data.length > streamLimits.frame)
        return bad(socket, "frames are JSON text of at most 256 KiB");
      const { expires } = watchers.viewer(socket).principal ?? {};
      if (expires !== undefined && expires <= Date.now())
        return watchers.bye(socket, closeCodes.unauthenticated, "token expired", head());
      const parsed = framesOf(data);
      for (const each of Array.isArray(parsed) ? parsed : [parsed]) {
        if (!withinRate(socket)) return watchers.bye(socket, closeCodes.rate, "too many frames", head());
        const frame = clientFrame.safeParse(each);
        if (!frame.success) return bad(socket, frame.error.issues[0]?.message ?? "unknown frame");
        await handle(socket, frame.data);
      }
    },
    closed: (socket) => {
      rates.delete(socket);
      if (socket.readyState === WebSocket.CLOSING) socket.close(1_000); // hibernating sockets do not answer a close themselves
    },
    removed: (sockets) => {
      for (const socket of sockets) socket.close(closeCodes.deleted, "deleted");
    },
    items: itemStates as () => Json,
  };
};
