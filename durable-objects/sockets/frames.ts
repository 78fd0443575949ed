import type { Session } from "../../src/agent/state/session.ts";
import type { Json } from "../../src/chat/message.ts";
import { limitForSocket } from "../../src/engine/access/authenticate.ts";
import type { Archive, SessionRules } from "../../src/session/define-operation.ts";
import type { ClientFrame } from "../../src/session/frames.ts";
import { closeCodes, streamLimits } from "../../src/session/frames.ts";
import { createSnapshot } from "../../src/session/operations/queries.ts";
import { accessProblem } from "../../src/session/operations/session.ts";
import type { Problem } from "../../src/session/problems.ts";
import { cursorAheadProblem, problemBody } from "../../src/session/problems.ts";
import type { SessionCall, SessionReply } from "../../src/session/rpc.ts";
import type { TeamDirectory } from "../../src/engine/access/rpc.ts";
import type { Connections } from "./connections.ts";
import type { HelloTimers } from "./hello-timers.ts";
import type { OpenItems } from "./open-items.ts";
import type { Watchers } from "./watchers.ts";

/** Carries out the frames of a session's sockets. */

export interface FrameParts {
  readonly connections: Connections;
  readonly hellos: HelloTimers;
  readonly watchers: Watchers;
  readonly items: OpenItems;
  readonly archive: () => Archive;
  readonly perform: (call: SessionCall) => Promise<SessionReply>;
  /** Returns the session, which is loaded if it is not in memory; null if there is none. */
  readonly wake: () => Promise<{ readonly read: () => Session } | null>;
  readonly rules: () => SessionRules;
  readonly authenticate: TeamDirectory["authenticate"];
  /** Closes sockets whose credential has expired, and wakes for the next that does. */
  readonly watchExpiry: () => void;
}

type HelloFrame = Extract<ClientFrame, { type: "hello" }>;

type SetFrame = Extract<ClientFrame, { type: "set" }>;

type CommandFrame = Extract<ClientFrame, { type: "command" }>;

export const rejectFrame = (
  { connections }: FrameParts,
  socket: WebSocket,
  problem: Problem,
  id?: string,
): void =>
  connections.send(socket, [
    JSON.stringify({ type: "error", ...(id === undefined ? {} : { id }), problem: problemBody(problem) }),
  ]);

/** Returns open items as a snapshot holds them. */
export const snapshotItems = (items: OpenItems): Json =>
  items.open().map(({ id, kind, thread, attempt, text }) => ({ item: id, kind, thread, attempt, text }));

const handleHello = async (parts: FrameParts, socket: WebSocket, frame: HelloFrame): Promise<void> => {
  const { connections, hellos, watchers, items, archive, rules } = parts;
  const live = await parts.wake();
  const { ready, principal } = connections.viewer(socket);
  if (live === null || principal === null) return;
  const now = live.read();
  if (ready) {
    const detail =
      "this socket has already said hello: use `set` to change what it shows, or a new socket to begin elsewhere";
    return rejectFrame(parts, socket, { code: "invalid_request", detail });
  }
  hellos.forget(socket);
  const { after, deltas } = frame;
  if (after !== undefined && after > now.head) {
    rejectFrame(parts, socket, cursorAheadProblem(now.head));
    return connections.closeWithNotice(socket, closeCodes.bad_frame, "cursor ahead", now.head);
  }
  const welcome = {
    type: "welcome",
    session: now.id,
    head_seq: now.head,
    heartbeat_ms: streamLimits.heartbeat,
    resume: after === undefined ? "snapshot" : "events",
    v: 1,
  };
  const first = [JSON.stringify(welcome)];
  if (after === undefined) {
    const snapshot = createSnapshot({
      state: now,
      archive: archive(),
      rules: rules(),
      principal,
      items: () => snapshotItems(items),
    });
    first.push(`{"type":"snapshot","snapshot":${snapshot}}`);
  }
  const filter = { deltas, types: frame.types ?? null, threads: frame.threads ?? null };
  watchers.start(socket, filter, after ?? now.head, first);
};

const handleCommand = async (
  parts: FrameParts,
  socket: WebSocket,
  { id, op, params }: CommandFrame,
): Promise<void> => {
  const { connections, perform } = parts;
  const { principal } = connections.viewer(socket);
  const live = await parts.wake();
  if (principal === null || live === null) return;
  const reply = await perform({ principal, session: live.read().id, op, params, key: id });
  if (!reply.ok) return rejectFrame(parts, socket, reply.problem, id);
  const result = `"seq":${reply.seq},"replayed":${reply.replayed},"result":${reply.json}`;
  connections.send(socket, [`{"type":"result","id":${JSON.stringify(id)},${result}}`]);
};

/** Renews the credential of a socket if the new token is for the same tenant, session and, if it has one, origin. */
const renewCredential = async (parts: FrameParts, socket: WebSocket, token: string): Promise<void> => {
  const { connections } = parts;
  const found = await parts.authenticate(token);
  if (!found.ok) return rejectFrame(parts, socket, found.problem);
  const problem = accessProblem((await parts.wake())?.read() ?? null, found.principal);
  if (problem?.code === "unauthenticated")
    return connections.closeWithNotice(socket, closeCodes.unauthenticated, "token of an earlier session");
  if (problem !== null) return connections.closeWithNotice(socket, closeCodes.not_found, "not found");
  if (!found.principal.scopes.includes("sessions:read"))
    return connections.closeWithNotice(socket, closeCodes.forbidden, "scope missing");
  const { origin } = found.principal;
  if (origin !== undefined && origin !== connections.viewer(socket).principal?.origin)
    return connections.closeWithNotice(socket, closeCodes.forbidden, "token of another origin");
  connections.change(socket, { principal: limitForSocket(found.principal, Date.now()) });
  parts.watchExpiry();
};

const changeFilter = (
  { watchers }: FrameParts,
  socket: WebSocket,
  { deltas, types, threads }: SetFrame,
): void =>
  watchers.filter(socket, {
    ...(deltas === undefined ? {} : { deltas }),
    ...(types === undefined ? {} : { types }),
    ...(threads === undefined ? {} : { threads }),
  });

/** Carries out one checked frame. */
export const handleFrame = async (
  parts: FrameParts,
  socket: WebSocket,
  frame: ClientFrame,
): Promise<void> => {
  switch (frame.type) {
    case "hello":
      return handleHello(parts, socket, frame);
    case "ack":
      return parts.watchers.acknowledged(socket, frame.frames);
    case "set":
      return changeFilter(parts, socket, frame);
    case "ping":
      return parts.connections.send(socket, ['{"type":"pong"}']);
    case "auth":
      return renewCredential(parts, socket, frame.token);
    case "command":
      return handleCommand(parts, socket, frame);
  }
};
