import { eventFrame, messageOf, passes, streamLimits } from "../src/agent/frames.ts";
import type { CloseCode, Filter } from "../src/agent/frames.ts";
import type { Delta } from "../src/agent/events.ts";
import type { Principal } from "../src/agent/rpc.ts";

/** What survives hibernation with a socket; `after` is its cursor while it lags, else null: it has seen all. */
export interface Viewer extends Filter {
  readonly principal: Principal | null;
  readonly ready: boolean;
  readonly after: number | null;
}

/** Flow of one socket in this isolate: what was sent and not acknowledged yet. */
interface Flow {
  frames: number;
  bytes: number;
  readonly sizes: { frame: number; bytes: number }[];
  patience: ReturnType<typeof setTimeout> | null;
}

export interface Watchers {
  readonly viewer: (socket: WebSocket) => Viewer;
  readonly change: (socket: WebSocket, change: Partial<Viewer>) => void;
  /** Sends frames regardless of filters; used for replies and replay. */
  readonly send: (socket: WebSocket, frames: readonly string[]) => void;
  readonly publish: (lines: readonly string[], head: number) => void;
  readonly show: (deltas: readonly Delta[]) => void;
  readonly acknowledged: (socket: WebSocket, frames: number) => void;
  readonly bye: (socket: WebSocket, code: CloseCode, reason: string, head: number) => void;
}

const fresh: Viewer = {
  principal: null,
  ready: false,
  after: null,
  deltas: "all",
  types: null,
  threads: null,
};

const wants = ({ deltas, threads }: Filter, delta: Delta | undefined): boolean =>
  delta !== undefined &&
  (deltas === "all" || (deltas === "text" && delta.kind === "text_delta")) &&
  (threads === null || threads.includes(delta.thread));

/** Feeds the hibernating sockets of a session from committed rows (AP-20 to AP-26). `replay` reads lines after a cursor. */
export const createWatchers = (
  ctx: DurableObjectState,
  replay: (after: number) => readonly string[],
): Watchers => {
  const viewers = new WeakMap<WebSocket, Viewer>();
  const flows = new WeakMap<WebSocket, Flow>();

  const viewer = (socket: WebSocket): Viewer => {
    const known = viewers.get(socket) ?? (socket.deserializeAttachment() as Viewer | null) ?? fresh;
    viewers.set(socket, known);
    return known;
  };
  const change = (socket: WebSocket, changed: Partial<Viewer>): void => {
    const next = { ...viewer(socket), ...changed };
    viewers.set(socket, next);
    socket.serializeAttachment(next);
  };
  const flowOf = (socket: WebSocket): Flow => {
    const known = flows.get(socket) ?? { frames: 0, bytes: 0, sizes: [], patience: null };
    flows.set(socket, known);
    return known;
  };
  const post = (socket: WebSocket, message: string | undefined, frames: number): void => {
    if (message === undefined || socket.readyState !== WebSocket.OPEN) return;
    const flow = flowOf(socket);
    flow.frames += frames;
    flow.bytes += message.length;
    flow.sizes.push({ frame: flow.frames, bytes: message.length });
    socket.send(message);
  };
  const bye: Watchers["bye"] = (socket, code, reason, head) => {
    const resume = viewer(socket).after ?? head;
    post(socket, JSON.stringify({ type: "bye", code, resume_after: resume, retry_ms: 1_000 }), 1);
    socket.close(code, reason);
  };
  /** A reader that fell behind gets no deltas, and events from the log once it has acknowledged (AP-26). */
  const lag = (socket: WebSocket, after: number): void => {
    change(socket, { after });
    post(socket, JSON.stringify({ type: "lag", shed: "deltas", seq: after }), 1);
    flowOf(socket).patience = setTimeout(() => bye(socket, 4413, "too slow", after), streamLimits.patience);
  };
  const isExpired = (socket: WebSocket, head: number): boolean => {
    const { principal } = viewer(socket);
    if (principal?.expires === undefined || principal.expires > Date.now()) return false;
    bye(socket, 4401, "token expired", head);
    return true;
  };
  const postFrames = (socket: WebSocket, frames: readonly string[]): void =>
    post(socket, messageOf(frames), frames.length);
  const feed = (socket: WebSocket, lines: readonly string[], whole: string, before: number): void => {
    const seen = viewer(socket);
    if (!seen.ready || seen.after !== null || isExpired(socket, before)) return;
    if (flowOf(socket).bytes + whole.length > streamLimits.unacked) return lag(socket, before);
    if (seen.types === null && seen.threads === null) post(socket, whole, lines.length);
    else postFrames(socket, lines.filter((line) => passes(line, seen)).map(eventFrame));
  };

  return {
    viewer,
    change,
    bye,
    send: postFrames,
    publish: (lines, head) => {
      const sockets = ctx.getWebSockets();
      if (sockets.length === 0 || lines.length === 0) return;
      const whole = messageOf(lines.map(eventFrame)) ?? "";
      for (const socket of sockets) feed(socket, lines, whole, head - lines.length);
    },
    show: (deltas) => {
      const sockets = ctx.getWebSockets();
      if (sockets.length === 0 || deltas.length === 0) return;
      const all = deltas.map((delta) => JSON.stringify(delta));
      const whole = messageOf(all);
      for (const socket of sockets) {
        const seen = viewer(socket);
        if (!seen.ready || seen.after !== null || flowOf(socket).bytes > streamLimits.unacked) continue;
        if (seen.deltas === "all" && seen.threads === null) post(socket, whole, all.length);
        else
          postFrames(
            socket,
            all.filter((_, index) => wants(seen, deltas[index])),
          );
      }
    },
    acknowledged: (socket, frames) => {
      const flow = flowOf(socket);
      while (flow.sizes[0] !== undefined && flow.sizes[0].frame <= frames)
        flow.bytes -= flow.sizes.shift()?.bytes ?? 0;
      const { after } = viewer(socket);
      if (after === null || flow.bytes > streamLimits.unacked / 2) return;
      if (flow.patience !== null) clearTimeout(flow.patience);
      flow.patience = null;
      const lines = replay(after);
      postFrames(socket, lines.filter((line) => passes(line, viewer(socket))).map(eventFrame));
      change(socket, { after: null });
    },
  };
};
