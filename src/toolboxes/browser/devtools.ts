import { fieldsOf, parseJson } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";

/** Connection by the Chrome DevTools Protocol: commands with answers, and events. */

export interface DevtoolsEvent {
  readonly method: string;
  readonly params: JsonObject;
  /** Session of the part of the browser that sent the event; empty for the browser itself. */
  readonly session: string;
}

export interface Devtools {
  /** Sends a command; rejects with the browser's message, or when the connection ends. */
  readonly send: (method: string, params?: JsonObject, session?: string) => Promise<JsonObject>;
  /** Sets what is still done, such as sending a command, when this side closes the connection. */
  readonly beforeEnd: (last: () => void) => void;
  readonly listen: (listener: (event: DevtoolsEvent) => void) => void;
  readonly close: () => void;
  /** Aborted when the connection ends, however it ends. */
  readonly ended: AbortSignal;
}

/** Parts of a WebSocket that a connection needs. */
export interface DevtoolsSocket {
  readonly send: (data: string) => void;
  readonly close: () => void;
  readonly addEventListener: (type: "message" | "close" | "error", on: (event: Event) => void) => void;
}

/** Reads a text field of a message; returns an empty text if there is none. */
export const textIn = (fields: JsonObject, name: string): string => {
  const value = fields[name];
  return typeof value === "string" ? value : "";
};

/** Deepest level of messages: those of a page may nest as deep as its document. */
const deepest = 1_000;

/** Creates a connection over an accepted socket. */
export const createDevtools = (socket: DevtoolsSocket): Devtools => {
  const waiting = new Map<number, PromiseWithResolvers<JsonObject>>();
  const listeners: ((event: DevtoolsEvent) => void)[] = [];
  const lastActs: (() => void)[] = [];
  let count = 0;
  const life = new AbortController();
  const end = (): void => {
    life.abort();
    for (const { reject } of waiting.values()) reject(new Error("the connection to the browser ended"));
    waiting.clear();
  };
  const take = (message: JsonObject): void => {
    const { id, method, params, result, error } = message;
    const answered = typeof id === "number" ? waiting.get(id) : undefined;
    if (answered !== undefined && typeof id === "number") {
      waiting.delete(id);
      if (error === undefined) answered.resolve(fieldsOf(result));
      else answered.reject(new Error(textIn(fieldsOf(error), "message")));
    }
    if (typeof method !== "string") return;
    const event = { method, params: fieldsOf(params), session: textIn(message, "sessionId") };
    for (const listener of listeners) listener(event);
  };
  socket.addEventListener("message", (event) => {
    const data = "data" in event && typeof event.data === "string" ? event.data : "";
    take(fieldsOf(parseJson(data, deepest)));
  });
  socket.addEventListener("close", end);
  socket.addEventListener("error", end);
  const send: Devtools["send"] = (method, params = {}, session = "") => {
    const answer = Promise.withResolvers<JsonObject>();
    if (life.signal.aborted) answer.reject(new Error("the connection to the browser ended"));
    else {
      waiting.set((count += 1), answer);
      const target = session === "" ? {} : { sessionId: session };
      socket.send(JSON.stringify({ id: count, method, params, ...target }));
    }
    // A command whose answer is no longer needed may fail.
    answer.promise.catch(() => undefined);
    return answer.promise;
  };
  return {
    send,
    beforeEnd: (last) => void lastActs.push(last),
    listen: (listener) => void listeners.push(listener),
    close: () => {
      for (const act of lastActs) act();
      end();
      socket.close();
    },
    ended: life.signal,
  };
};
