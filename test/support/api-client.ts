import type { StoredEvent } from "../../src/agent/state/events.ts";
import { until } from "./dev-server.ts";
import { checkAnswer, findFrameProblem, recordClientFrame, recordClose } from "./documented.ts";

/** A plain client of the API for tests: nothing is retried, everything that came is kept. */

type Fields = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Fields;
}

export interface Api {
  readonly get: (path: string, headers?: Readonly<Record<string, string>>) => Promise<Answer>;
  readonly post: (path: string, body: unknown, headers?: Readonly<Record<string, string>>) => Promise<Answer>;
  readonly delete: (path: string) => Promise<Answer>;
  /** Creates a session and gives its id. */
  readonly create: (body?: unknown) => Promise<string>;
  /** The whole log of a session. */
  readonly events: (session: string) => Promise<readonly StoredEvent[]>;
}

export const createApi = (url: string, key?: string): Api => {
  const auth = key === undefined ? {} : { Authorization: `Bearer ${key}` };
  const call = async (method: string, path: string, init: RequestInit = {}): Promise<Answer> => {
    const response = await fetch(`${url}${path}`, { ...init, method, signal: AbortSignal.timeout(90_000) });
    const text = await response.text();
    const sent: unknown = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
    const { status, headers } = response;
    checkAnswer({ method, path, sent, status, type: headers.get("Content-Type"), text });
    return {
      status: response.status,
      headers: response.headers,
      body: text === "" ? {} : (JSON.parse(text) as Fields),
    };
  };
  const post: Api["post"] = (path, body, headers = {}) =>
    call("POST", path, {
      headers: { ...auth, "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  const get: Api["get"] = (path, headers = {}) => call("GET", path, { headers: { ...auth, ...headers } });
  return {
    get,
    post,
    delete: (path) => call("DELETE", path, { headers: auth }),
    create: async (body = {}) => {
      const { status, body: session } = await post("/v1/sessions", body);
      if (status !== 201) throw new Error(JSON.stringify(session));
      return String(session["id"]);
    },
    events: async (session) => {
      const all: StoredEvent[] = [];
      for (;;) {
        const { body } = await get(`/v1/sessions/${session}/events?after=${all.length}&limit=1000`);
        const page = body["data"] as readonly StoredEvent[];
        all.push(...page);
        if (page.length === 0 || all.length >= Number(body["head_seq"])) return all;
      }
    },
  };
};

export interface Frame extends Fields {
  readonly type: string;
  readonly event?: StoredEvent;
}

/** A socket and all that it received, in order. */
export interface Watcher {
  readonly socket: WebSocket;
  readonly frames: readonly Frame[];
  readonly events: readonly StoredEvent[];
  /** The first event of a type, from those there are or will be. */
  readonly event: (
    type: StoredEvent["type"],
    which?: (event: StoredEvent) => boolean,
  ) => Promise<StoredEvent>;
  readonly frame: (type: string) => Promise<Frame>;
  /** Called with each event as it comes, before `events` has it. */
  onEvent: (event: StoredEvent) => void;
  readonly closed: Promise<number>;
  readonly close: () => void;
}

export interface WatchOptions {
  readonly after?: number;
  readonly protocols?: readonly string[];
  readonly deltas?: "all" | "text" | "none";
}

/** Watches a session; acknowledges as a client must. */
export const watchSession = (url: string, session: string, options: WatchOptions = {}): Watcher => {
  const { after = 0, protocols = ["limpet.v1"], deltas = "all" } = options;
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/v1/sessions/${session}/ws`, [...protocols]);
  const frames: Frame[] = [];
  const events: StoredEvent[] = [];
  const closed = new Promise<number>((done) => {
    socket.addEventListener("close", ({ code, reason }) => {
      recordClose(code, reason);
      done(code);
    });
  });
  socket.addEventListener("error", () => undefined);
  const say = (frame: object): void => {
    recordClientFrame(frame);
    socket.send(JSON.stringify(frame));
  };
  socket.addEventListener("open", () => say({ type: "hello", after, deltas }));
  let acked = 0;
  const watcher: Watcher = {
    socket,
    frames,
    events,
    onEvent: () => undefined,
    event: (type, which = () => true) =>
      until(`an event ${type}`, () => events.find((event) => event.type === type && which(event)) ?? null),
    frame: (type) => until(`a frame ${type}`, () => frames.find((frame) => frame.type === type) ?? null),
    closed,
    close: () => socket.close(1000),
  };
  socket.addEventListener("message", ({ data }) => {
    for (const frame of [JSON.parse(String(data)) as Frame].flat()) {
      const problem = findFrameProblem(frame);
      if (problem !== null) throw new Error(problem);
      frames.push(frame);
      if (frame.type !== "event" || frame.event === undefined) continue;
      watcher.onEvent(frame.event);
      events.push(frame.event);
    }
    if (frames.length - acked < 50 || socket.readyState !== WebSocket.OPEN) return;
    acked = frames.length;
    say({ type: "ack", frames: acked });
  });
  return watcher;
};
