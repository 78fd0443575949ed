import type { Delta, ProviderFrame, SessionEvent } from "../../src/agent/state/events.ts";
import type { LoggedEvent } from "../../src/session/event-lines.ts";
import { isShownToAll, matchesFilter, showEvents, takeEvents } from "../../src/session/event-lines.ts";
import type { StreamFilter } from "../../src/session/frames.ts";
import { closeCodes, eventFrame, joinFrames, streamLimits } from "../../src/session/frames.ts";
import type { Connections, Viewer } from "./connections.ts";
import type { OpenItems } from "./open-items.ts";

/** Feeds the hibernating sockets of a session from committed rows. */
export interface Watchers {
  /** Sends `first`, then the log after `after`, open items and `live`, at the reader's pace. */
  readonly start: (socket: WebSocket, filter: StreamFilter, after: number, first: readonly string[]) => void;
  /** Changes the filter from now on; open items are sent anew, since their beginning may have been left out. */
  readonly filter: (socket: WebSocket, change: Partial<StreamFilter>) => void;
  /** Sends the events of a commit, whose lines are built only if there are watchers; `before` is the head before it. */
  readonly publish: (
    events: readonly Pick<SessionEvent, "type" | "thread">[],
    lines: () => readonly string[],
    before: number,
  ) => void;
  readonly show: (deltas: readonly Delta[]) => void;
  /** Sends frames of providers to those who may debug and take all deltas. */
  readonly showFrames: (frames: readonly ProviderFrame[]) => void;
  readonly acknowledged: (socket: WebSocket, frames: number) => void;
  /** Sends a lagging reader what it lacks, as far as it may have more. */
  readonly resume: (socket: WebSocket) => void;
}

interface WatcherParts {
  readonly sockets: () => readonly WebSocket[];
  readonly connections: Connections;
  readonly items: Pick<OpenItems, "open">;
  /** Yields the events after a cursor. */
  readonly replay: (after: number) => Iterable<LoggedEvent>;
  /** Returns the newest event's seq; null while the session is not in memory. */
  readonly head: () => number | null;
  /** Reports that the log could not be read for a socket. */
  readonly failed: (error: unknown) => void;
}

const nobody = { scopes: [] };

/** Limits of one message of a replay. */
const replayPage = { before: Number.MAX_SAFE_INTEGER, limit: streamLimits.page, bytes: 262_144 };

const isWanted = ({ deltas, threads }: StreamFilter, kind: Delta["kind"], thread: string): boolean =>
  (deltas === "all" || (deltas === "text" && kind === "text_delta")) &&
  (threads === null || threads.includes(thread));

/** Returns whether a socket gets live pieces: a reader that does not acknowledge when it lags gets none any more. */
const takesDeltas = ({ deltas, reader }: Viewer): boolean => deltas !== "none" && reader !== "silent";

const itemStates = ({ items }: WatcherParts, filter: StreamFilter): readonly string[] =>
  items
    .open()
    .filter(({ kind, thread }) => isWanted(filter, `${kind}_delta`, thread))
    .map(({ id, kind, thread, attempt, text }) =>
      JSON.stringify({ type: "item_state", item: id, kind, thread, attempt, text }),
    );

/** Returns the frames of lines as a viewer may see them. */
const eventFrames = (lines: readonly string[], { principal }: Viewer): readonly string[] =>
  showEvents(lines, principal ?? nobody).map(eventFrame);

/**
 * Sends the next page of what a socket lacks; until it has seen all or is full it goes on by itself, after others had
 * their turn. Deltas begin again with whole items. While the session is not in memory its log is unknown, and the
 * socket goes on with the next commit.
 */
const sendMissing = (parts: WatcherParts, socket: WebSocket, first: readonly string[]): void => {
  const { viewer, change, send, applyBackpressure, closeIfExpired, goOnSoon } = parts.connections;
  const head = parts.head();
  if (head === null) return send(socket, first);
  if (closeIfExpired(socket)) return;
  const seen = viewer(socket);
  const { lines, read } = takeEvents(parts.replay(seen.after ?? head), { filter: seen, ...replayPage });
  const after = (seen.after ?? head) + read;
  const frames = [...first, ...eventFrames(lines, seen)];
  if (after < head && read > 0) {
    change(socket, { after });
    send(socket, frames);
    if (!applyBackpressure(socket)) goOnSoon(socket);
    return;
  }
  change(socket, { after: null });
  const live = JSON.stringify({ type: "live", seq: head });
  send(socket, [...frames, ...(takesDeltas(seen) ? itemStates(parts, seen) : []), live]);
};

/** Sends a socket what it lacks; if the log cannot be read, only this socket ends, and its client connects again. */
const catchUp = (parts: WatcherParts, socket: WebSocket, first: readonly string[] = []): void => {
  try {
    sendMissing(parts, socket, first);
  } catch (error) {
    parts.failed(error);
    parts.connections.closeWithNotice(socket, closeCodes.overload, "the log could not be read");
  }
};

/** Sends a socket what it lacks of the log, now or later from `before` on; returns whether it takes live frames. */
const prepareForLive = (parts: WatcherParts, socket: WebSocket, before: number): boolean => {
  const { viewer, change, applyBackpressure, closeIfExpired } = parts.connections;
  const { ready, after } = viewer(socket);
  if (!ready || closeIfExpired(socket, before)) return false;
  const hasRoom = !applyBackpressure(socket);
  if (hasRoom && after !== null) catchUp(parts, socket);
  else if (!hasRoom && after === null) change(socket, { after: before });
  return hasRoom && after === null;
};

/** Returns the texts of what is wanted; the texts stand in the order of what they are about. */
const pickTexts = <T>(
  texts: readonly string[],
  about: readonly T[],
  wants: (each: T) => boolean,
): readonly string[] => about.flatMap((each, index) => (wants(each) ? texts.slice(index, index + 1) : []));

const publish = (
  parts: WatcherParts,
  sockets: readonly WebSocket[],
  events: readonly Pick<SessionEvent, "type" | "thread">[],
  lines: readonly string[],
  before: number,
): void => {
  const { viewer, post, send } = parts.connections;
  const whole = joinFrames(lines.map(eventFrame)) ?? "";
  const isForAll = events.every(isShownToAll);
  for (const socket of sockets) {
    if (!prepareForLive(parts, socket, before)) continue;
    const seen = viewer(socket);
    if (isForAll && seen.types === null && seen.threads === null) post(socket, whole, lines.length);
    else {
      const wanted = pickTexts(lines, events, (event) => matchesFilter(event, seen));
      send(socket, eventFrames(wanted, seen));
    }
  }
};

const show = (
  parts: WatcherParts,
  sockets: readonly WebSocket[],
  deltas: readonly Delta[],
  head: number,
): void => {
  const { viewer, post, send } = parts.connections;
  const frames = deltas.map((delta) => JSON.stringify(delta));
  const whole = joinFrames(frames) ?? "";
  for (const socket of sockets) {
    const seen = viewer(socket);
    if (!takesDeltas(seen) || !prepareForLive(parts, socket, head)) continue;
    if (seen.deltas === "all" && seen.threads === null) post(socket, whole, frames.length);
    else
      send(
        socket,
        pickTexts(frames, deltas, ({ kind, thread }) => isWanted(seen, kind, thread)),
      );
  }
};

/** Returns whether a socket asked for a frame and its owner may see it. */
const wantsFrame = (
  { principal, deltas, types, threads, reader }: Viewer,
  { type, thread }: ProviderFrame,
): boolean =>
  reader !== "silent" &&
  principal?.scopes.includes("debug:read") === true &&
  deltas === "all" &&
  (types === null || types.includes(type)) &&
  (threads === null || threads.includes(thread));

export const createWatchers = (parts: WatcherParts): Watchers => {
  const { connections } = parts;
  return {
    start: (socket, filter, after, first) => {
      connections.change(socket, { ...filter, ready: true, after });
      catchUp(parts, socket, first);
    },
    filter: (socket, changed) => {
      connections.change(socket, changed);
      const seen = connections.viewer(socket);
      const head = parts.head();
      if (head === null || seen.after !== null || !takesDeltas(seen)) return;
      if (prepareForLive(parts, socket, head)) connections.send(socket, itemStates(parts, seen));
    },
    publish: (events, build, before) => {
      const sockets = events.length === 0 ? [] : parts.sockets();
      if (sockets.length > 0) publish(parts, sockets, events, build(), before);
    },
    show: (deltas) => {
      const sockets = deltas.length === 0 ? [] : parts.sockets();
      const head = parts.head();
      if (sockets.length > 0 && head !== null) show(parts, sockets, deltas, head);
    },
    showFrames: (frames) => {
      const head = parts.head();
      if (head === null) return;
      for (const socket of parts.sockets()) {
        const wanted = frames.filter((frame) => wantsFrame(connections.viewer(socket), frame));
        if (wanted.length === 0 || !prepareForLive(parts, socket, head)) continue;
        connections.send(
          socket,
          wanted.map((frame) => JSON.stringify(frame)),
        );
      }
    },
    acknowledged: (socket, frames) => {
      const { reader, after } = connections.viewer(socket);
      const hasRoom = connections.acknowledge(socket, frames);
      if (hasRoom && after !== null) catchUp(parts, socket);
      // Deltas begin again in the middle of items, which are sent anew.
      if (reader === "silent" && after === null)
        connections.send(socket, itemStates(parts, connections.viewer(socket)));
    },
    resume: (socket) => {
      if (socket.readyState === WebSocket.OPEN && connections.viewer(socket).after !== null)
        catchUp(parts, socket);
    },
  };
};
