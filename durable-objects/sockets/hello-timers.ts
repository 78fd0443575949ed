import { closeCodes, streamLimits } from "../../src/session/frames.ts";

/** Closes sockets that do not say hello in time. A timer, which keeps the object awake, runs only while one waits. */
export interface HelloTimers {
  /** Expects a hello of a socket that was opened. */
  readonly expect: (socket: WebSocket) => void;
  /** Stops waiting for a socket that has said hello or was closed. */
  readonly forget: (socket: WebSocket) => void;
}

/** Creates the timers; `ms` limits the wait for a hello. */
export const createHelloTimers = (ms: number = streamLimits.hello): HelloTimers => {
  const timers = new Map<WebSocket, ReturnType<typeof setTimeout>>();
  const forget = (socket: WebSocket): void => {
    clearTimeout(timers.get(socket));
    timers.delete(socket);
  };
  const close = (socket: WebSocket): void => {
    forget(socket);
    if (socket.readyState === WebSocket.OPEN) socket.close(closeCodes.timeout, "no hello");
  };
  return { expect: (socket) => void timers.set(socket, setTimeout(close, ms, socket)), forget };
};
