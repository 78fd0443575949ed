import { closeCodes, streamLimits } from "../../src/session/frames.ts";

/** Closes sockets that do not say hello in time. Only while one is awaited a timer runs, which keeps the object from sleeping. */
export interface HelloTimers {
  /** A socket was opened. */
  readonly expect: (socket: WebSocket) => void;
  /** It has said hello, or is gone. */
  readonly forget: (socket: WebSocket) => void;
}

/** `ms`: how long a hello is awaited. */
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
