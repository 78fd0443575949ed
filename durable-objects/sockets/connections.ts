import type { CloseCode, StreamFilter } from "../../src/session/frames.ts";
import { closeCodes, joinFrames, streamLimits } from "../../src/session/frames.ts";
import type { Principal } from "../../src/session/rpc.ts";

/** Counts what one socket was sent and has not acknowledged; hibernating sockets give no useful `bufferedAmount`. */
export interface Flow {
  /** Counts a message; returns the number of frames of the connection, as far as it is known. */
  readonly recordSent: (characters: number, frames: number) => number;
  /** Counts the oldest messages, of this many characters, as received without an acknowledgement. */
  readonly credit: (characters: number) => void;
  /** Returns the number of characters that were sent. */
  readonly sent: () => number;
  /** Returns the number of frames of the connection. */
  readonly frames: () => number;
  /** Records that the reader has received this many frames of its connection; returns the number that it has. */
  readonly acknowledge: (frames: number) => number;
  /** Returns the number of unacknowledged characters. */
  readonly unacknowledged: () => number;
  /** Starts the time for what is done next unless an acknowledgement comes, if none is running; returns whether it did. */
  readonly wait: (ms: number, over: () => void) => boolean;
  /** Forgets a closed socket. */
  readonly forget: () => void;
}

/** Creates the count of a socket that was sent this many frames before the object slept. */
export const createFlow = (before = 0): Flow => {
  let frames = before;
  let characters = 0;
  let total = 0;
  let waiting: ReturnType<typeof setTimeout> | null = null;
  const messages: { readonly upTo: number; readonly characters: number }[] = [];
  const stop = (): void => {
    if (waiting !== null) clearTimeout(waiting);
    waiting = null;
  };
  return {
    recordSent: (more, count) => {
      frames += count;
      characters += more;
      total += more;
      messages.push({ upTo: frames, characters: more });
      return frames;
    },
    credit: (allowance) => {
      for (let left = allowance; left > 0 && messages.length > 0;) {
        const size = messages.shift()?.characters ?? 0;
        characters -= size;
        left -= size;
      }
      stop();
    },
    sent: () => total,
    frames: () => frames,
    acknowledge: (received) => {
      // A reader may also count the pongs that the platform sent.
      frames = Math.max(frames, received);
      const open = messages.findIndex(({ upTo }) => upTo > received);
      const done = messages.splice(0, open < 0 ? messages.length : open);
      for (const message of done) characters -= message.characters;
      stop();
      return frames;
    },
    unacknowledged: () => characters,
    wait: (ms, over) => {
      if (waiting !== null) return false;
      waiting = setTimeout(over, ms);
      return true;
    },
    forget: stop,
  };
};

/** State of a socket that survives hibernation; `after` is its cursor while it lags, and null once it has seen all. */
export interface Viewer extends StreamFilter {
  readonly principal: Principal | null;
  /** Whether the socket has sent its hello. */
  readonly ready: boolean;
  readonly after: number | null;
  /** Number of frames of the connection, which acknowledgements count. */
  readonly frames: number;
  /** Whether the reader acknowledges: a `silent` one did not when it lagged, and is paced from then on. */
  readonly reader: "new" | "silent" | "acknowledging";
}

/** Sockets of a session: who watches, what was sent, and how they end. */
export interface Connections {
  readonly viewer: (socket: WebSocket) => Viewer;
  readonly change: (socket: WebSocket, change: Partial<Viewer>) => void;
  /** Sends frames as one message, regardless of filters. */
  readonly send: (socket: WebSocket, frames: readonly string[]) => void;
  /** Sends a serialised message that holds this many frames. */
  readonly post: (socket: WebSocket, message: string, frames: number) => void;
  /** Notifies a reader that has too much unacknowledged, paces it, and closes it if that lasts; returns whether it has. */
  readonly applyBackpressure: (socket: WebSocket) => boolean;
  /** Sends more to a reader that has room, as soon as others had their turn. */
  readonly goOnSoon: (socket: WebSocket) => void;
  /** Records an acknowledgement and returns whether the reader can take more again. */
  readonly acknowledge: (socket: WebSocket, frames: number) => boolean;
  /** Closes a socket whose credential has expired; returns whether it did. `seen` is that of `closeWithNotice`. */
  readonly closeIfExpired: (socket: WebSocket, seen?: number) => boolean;
  /** Closes the sockets whose credential has expired; returns when the next one of the others does, or null. */
  readonly closeExpired: (sockets: readonly WebSocket[]) => number | null;
  /**
   * Closes a socket and says where to resume: at `seen`, if an up-to-date socket was not sent the newest events.
   * One that has not said hello resumes where its client knows.
   */
  readonly closeWithNotice: (socket: WebSocket, code: CloseCode, reason: string, seen?: number) => void;
  readonly forget: (socket: WebSocket) => void;
}

const initialViewer: Viewer = {
  principal: null,
  ready: false,
  after: null,
  frames: 0,
  reader: "new",
  deltas: "all",
  types: null,
  threads: null,
};

/** Creates the store of each socket's state, in memory and in its attachment. */
const createViewers = (): Pick<Connections, "viewer" | "change"> => {
  const viewers = new WeakMap<WebSocket, Viewer>();
  const viewer = (socket: WebSocket): Viewer => {
    const known = viewers.get(socket) ?? (socket.deserializeAttachment() as Viewer | null) ?? initialViewer;
    viewers.set(socket, known);
    return known;
  };
  return {
    viewer,
    change: (socket, changed) => {
      const next = { ...viewer(socket), ...changed };
      viewers.set(socket, next);
      socket.serializeAttachment(next);
    },
  };
};

/** Creates the flow of each socket when it is first asked for. */
const createFlows = (viewer: Connections["viewer"]): ((socket: WebSocket) => Flow) => {
  const flows = new WeakMap<WebSocket, Flow>();
  return (socket) => {
    const known = flows.get(socket) ?? createFlow(viewer(socket).frames);
    flows.set(socket, known);
    return known;
  };
};

type ConnectionLimits = Readonly<Record<"unacked" | "patience" | "pace" | "silent", number>>;

/** Waits for an acknowledgement, or goes on at a pace with a reader that has never sent one; returns whether it began. */
const startWait = (
  flow: Flow,
  reader: Viewer["reader"],
  limits: ConnectionLimits,
  { close, goOn }: { readonly close: () => void; readonly goOn: () => void },
): boolean => {
  if (reader === "acknowledging") return flow.wait(limits.patience, close);
  if (flow.sent() <= limits.silent)
    return flow.wait(1_000, () => {
      flow.credit(limits.pace);
      goOn();
    });
  close();
  return false;
};

/** Goes on after others had their turn, or earlier with an acknowledgement. */
const waitForTurn = (flow: Flow, goOn: () => void): void => {
  flow.wait(0, () => {
    flow.credit(0);
    goOn();
  });
};

/** Creates what closes sockets whose credential has expired. */
const createExpiry = (
  viewer: Connections["viewer"],
  closeWithNotice: Connections["closeWithNotice"],
): Pick<Connections, "closeIfExpired" | "closeExpired"> => {
  const expiryOf = (socket: WebSocket): number => viewer(socket).principal?.expires ?? Infinity;
  const closeIfExpired: Connections["closeIfExpired"] = (socket, seen) => {
    if (expiryOf(socket) > Date.now()) return false;
    closeWithNotice(socket, closeCodes.unauthenticated, "token expired", seen);
    return true;
  };
  return {
    closeIfExpired,
    closeExpired: (sockets) => {
      const open = sockets.filter(({ readyState }) => readyState === WebSocket.OPEN);
      const next = Math.min(...open.filter((socket) => !closeIfExpired(socket)).map(expiryOf));
      return next === Infinity ? null : next;
    },
  };
};

interface ConnectionParts {
  /** Returns the newest event's seq, where a reader that has seen all resumes. */
  readonly head: () => number;
  /** Sends more to a reader. */
  readonly resume: (socket: WebSocket) => void;
}

const ackRule = "acknowledge at least each 100 frames or 256 KiB; frames counts those of the connection";

/** Returns the `hint` to a lagging reader: the acknowledgement that is missing. */
const ackHint = (frames: number): string => `send {"type":"ack","frames":${frames}}; ${ackRule}`;

export const createConnections = (
  { head, resume: goOn }: ConnectionParts,
  limits: ConnectionLimits = streamLimits,
): Connections => {
  const { viewer, change } = createViewers();
  const flowOf = createFlows(viewer);
  const post = (socket: WebSocket, message: string, frames: number): void => {
    if (socket.readyState !== WebSocket.OPEN) return;
    change(socket, { frames: flowOf(socket).recordSent(message.length, frames) });
    socket.send(message);
  };
  const send = (socket: WebSocket, frames: readonly string[]): void => {
    const message = joinFrames(frames);
    if (message !== undefined) post(socket, message, frames.length);
  };
  const closeWithNotice: Connections["closeWithNotice"] = (socket, code, reason, seen) => {
    const { ready, after } = viewer(socket);
    const place = after ?? seen ?? (ready ? head() : undefined);
    const resume = code === closeCodes.deleted ? {} : { resume_after: place, retry_ms: 1_000 };
    const hint = code === closeCodes.slow ? { hint: `connect again after resume_after, and ${ackRule}` } : {};
    send(socket, [JSON.stringify({ type: "bye", code, ...resume, ...hint })]);
    flowOf(socket).forget();
    socket.close(code, reason);
  };
  const closeSlow = (socket: WebSocket): void => closeWithNotice(socket, closeCodes.slow, "too slow");
  return {
    viewer,
    change,
    post,
    send,
    closeWithNotice,
    applyBackpressure: (socket) => {
      const flow = flowOf(socket);
      if (flow.unacknowledged() <= limits.unacked) return false;
      const { reader, after } = viewer(socket);
      const next = { close: () => closeSlow(socket), goOn: () => goOn(socket) };
      if (!startWait(flow, reader, limits, next) || reader === "silent") return true;
      if (reader === "new") change(socket, { reader: "silent" });
      const hint = ackHint(flow.frames() + 1);
      send(socket, [JSON.stringify({ type: "lag", shed: "deltas", seq: after ?? head(), hint })]);
      return true;
    },
    goOnSoon: (socket) => waitForTurn(flowOf(socket), () => goOn(socket)),
    acknowledge: (socket, frames) => {
      const flow = flowOf(socket);
      change(socket, { reader: "acknowledging", frames: flow.acknowledge(frames) });
      const hasRoom = flow.unacknowledged() <= limits.unacked / 2;
      // A lagging reader goes on with an acknowledgement only, and is closed without one.
      if (!hasRoom && viewer(socket).after !== null) flow.wait(limits.patience, () => closeSlow(socket));
      return hasRoom;
    },
    ...createExpiry(viewer, closeWithNotice),
    forget: (socket) => flowOf(socket).forget(),
  };
};
