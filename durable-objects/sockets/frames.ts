import type { Session } from "../../src/agent/state/session.ts";
import type { Json } from "../../src/chat/message.ts";
import { forSocket } from "../../src/engine/access/authenticate.ts";
import type { Archive } from "../../src/session/command.ts";
import type { ClientFrame } from "../../src/session/frames.ts";
import { closeCodes, streamLimits } from "../../src/session/frames.ts";
import { snapshotOf } from "../../src/session/operations/queries.ts";
import { accessProblem } from "../../src/session/operations/session.ts";
import type { Problem } from "../../src/session/problems.ts";
import { problemBody } from "../../src/session/problems.ts";
import type { Operation, SessionCall, SessionReply, TeamRpc } from "../../src/session/rpc.ts";
import type { Connections } from "./connections.ts";
import type { Hellos } from "./hellos.ts";
import type { Items } from "./items.ts";
import type { Watchers } from "./watchers.ts";

/** What the frames of a session's sockets do. */

export interface FrameParts {
  readonly connections: Connections;
  readonly hellos: Hellos;
  readonly watchers: Watchers;
  readonly items: Items;
  readonly archive: () => Archive;
  readonly perform: (call: SessionCall) => Promise<SessionReply>;
  readonly session: () => Session | null;
  readonly authenticate: TeamRpc["authenticate"];
}

type Hello = Extract<ClientFrame, { type: "hello" }>;

type Change = Extract<ClientFrame, { type: "set" }>;

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

export const rejectFrame = (
  { connections }: FrameParts,
  socket: WebSocket,
  problem: Problem,
  id?: string,
): void =>
  connections.send(socket, [
    JSON.stringify({ type: "error", ...(id === undefined ? {} : { id }), problem: problemBody(problem) }),
  ]);

/** Open items as a snapshot holds them. */
export const openItems = (items: Items): Json =>
  items.open().map(({ id, kind, thread, attempt, text }) => ({ item: id, kind, thread, attempt, text }));

const hello = (parts: FrameParts, socket: WebSocket, frame: Hello): void => {
  const { connections, hellos, watchers, items, archive } = parts;
  const now = parts.session();
  if (now === null) return;
  if (connections.viewer(socket).ready) {
    const detail =
      "this socket has said hello already: `set` changes what it shows, a new socket begins elsewhere";
    return rejectFrame(parts, socket, { code: "invalid_request", detail });
  }
  hellos.forget(socket);
  const { after, deltas } = frame;
  if (after !== undefined && after > now.head) {
    const detail = `after: the newest event is ${now.head}`;
    rejectFrame(parts, socket, { code: "cursor_ahead", detail, meta: { head_seq: now.head } });
    return connections.bye(socket, closeCodes.bad_frame, "cursor ahead");
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
    const snapshot = snapshotOf({ state: now, archive: archive() }, openItems(items));
    first.push(`{"type":"snapshot","snapshot":${snapshot}}`);
  }
  const filter = { deltas, types: frame.types ?? null, threads: frame.threads ?? null };
  watchers.start(socket, filter, after ?? now.head, first);
};

const command = async (parts: FrameParts, socket: WebSocket, frame: Command): Promise<void> => {
  const { connections, perform } = parts;
  const { principal } = connections.viewer(socket);
  const now = parts.session();
  if (principal === null || now === null) return;
  const reply = await perform({ principal, session: now.id, ...callOf(frame), key: frame.id });
  if (!reply.ok) return rejectFrame(parts, socket, reply.problem, frame.id);
  const result = `"seq":${reply.seq},"replayed":${reply.replayed},"result":${reply.json}`;
  connections.send(socket, [`{"type":"result","id":${JSON.stringify(frame.id)},${result}}`]);
};

/** A new token for the same tenant and session keeps the socket. */
const renew = async (parts: FrameParts, socket: WebSocket, token: string): Promise<void> => {
  const { connections } = parts;
  const found = await parts.authenticate(token);
  if (!found.ok) return rejectFrame(parts, socket, found.problem);
  const problem = accessProblem(parts.session(), found.principal);
  if (problem?.code === "unauthenticated")
    return connections.bye(socket, closeCodes.unauthenticated, "token of an earlier session");
  if (problem !== null) return connections.bye(socket, closeCodes.not_found, "not found");
  if (!found.principal.scopes.includes("sessions:read"))
    return connections.bye(socket, closeCodes.forbidden, "scope missing");
  connections.change(socket, { principal: forSocket(found.principal, Date.now()) });
};

const refilter = ({ watchers }: FrameParts, socket: WebSocket, { deltas, types, threads }: Change): void =>
  watchers.filter(socket, {
    ...(deltas === undefined ? {} : { deltas }),
    ...(types === undefined ? {} : { types }),
    ...(threads === undefined ? {} : { threads }),
  });

/** Does what one checked frame says. */
export const handleFrame = async (
  parts: FrameParts,
  socket: WebSocket,
  frame: ClientFrame,
): Promise<void> => {
  switch (frame.type) {
    case "hello":
      return hello(parts, socket, frame);
    case "ack":
      return parts.watchers.acknowledged(socket, frame.frames);
    case "set":
      return refilter(parts, socket, frame);
    case "ping":
      return parts.connections.send(socket, ['{"type":"pong"}']);
    case "auth":
      return renew(parts, socket, frame.token);
    case "send":
    case "withdraw":
    case "answer":
    case "cancel":
      return command(parts, socket, frame);
  }
};
