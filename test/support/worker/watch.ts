import type { ReportedMessage, StoredEvent } from "../../../src/agent/state/events.ts";
import { findFrameProblem, recordClientFrame } from "../documented.ts";
import type { Sent } from "./session.ts";

/** A WebSocket client that keeps what it is told as a real one would, and notes every break of the stream's rules. */

export interface Hello {
  readonly after?: number;
  readonly deltas?: "all" | "text" | "none";
  readonly types?: readonly string[];
  readonly threads?: readonly string[];
}

export interface Frame {
  readonly type: string;
  readonly [field: string]: unknown;
}

interface Delta {
  readonly item: string;
  readonly kind: string;
  readonly off: number;
  readonly data: string;
}

export interface Watch {
  readonly socket: WebSocket;
  /** Every frame in order, those of one message beside each other. */
  readonly frames: Frame[];
  readonly events: StoredEvent[];
  /** Text of every item that was not voided, as shown. */
  readonly texts: Map<string, string>;
  /** Breaks of order, gaps in text. */
  readonly faults: string[];
  /** WebSocket messages so far. */
  messages: number;
  ended: { readonly code: number } | null;
  /** Waits for a frame that is there or comes. */
  readonly until: (found: (frame: Frame) => boolean, what?: string) => Promise<Frame>;
  readonly event: (type: string) => Promise<StoredEvent>;
  readonly send: (...frames: object[]) => void;
  readonly closed: () => Promise<number>;
  /** Called after each message. */
  onMessage: (count: number) => void;
  readonly close: () => void;
}

const keepEvent = (watch: Watch, event: StoredEvent, filtered: boolean): void => {
  const last = watch.events.at(-1)?.seq;
  if (last !== undefined && (filtered ? event.seq <= last : event.seq !== last + 1))
    watch.faults.push(`event ${event.seq} after ${last}`);
  watch.events.push(event);
  if (event.type === "attempt_aborted") for (const item of event.data.items) watch.texts.delete(item);
};

const keepDelta = (watch: Watch, { item, off, data }: Delta): void => {
  const text = watch.texts.get(item) ?? "";
  if (off !== text.length) watch.faults.push(`delta of ${item} at ${off}, shown ${text.length}`);
  watch.texts.set(item, text + data);
};

const keep = (watch: Watch, frame: Frame, filtered: boolean): void => {
  watch.frames.push(frame);
  const problem = findFrameProblem(frame);
  if (problem !== null) watch.faults.push(problem);
  if (frame.type === "event") keepEvent(watch, frame["event"] as StoredEvent, filtered);
  if (frame.type === "delta") keepDelta(watch, frame as unknown as Delta);
  if (frame.type === "item_state") watch.texts.set(String(frame["item"]), String(frame["text"]));
};

/** Wraps an accepted socket; `hello` is sent at once unless it is undefined. */
const watchSocket = (socket: WebSocket, hello: Hello | undefined): Watch => {
  let waiters: (() => void)[] = [];
  const stir = (): void => {
    const woken = waiters;
    waiters = [];
    for (const wake of woken) wake();
  };
  const pause = (): Promise<void> => new Promise((resolve) => waiters.push(resolve));
  const filtered = hello?.types !== undefined || hello?.threads !== undefined;
  const watch: Watch = {
    socket,
    frames: [],
    events: [],
    texts: new Map(),
    faults: [],
    messages: 0,
    ended: null,
    onMessage: () => undefined,
    until: async (found, what = "a frame") => {
      for (let seen = 0; ;) {
        for (; seen < watch.frames.length; seen++) {
          const frame = watch.frames[seen];
          if (frame !== undefined && found(frame)) return frame;
        }
        if (watch.ended !== null) throw new Error(`closed (${watch.ended.code}) before ${what}`);
        await pause();
      }
    },
    event: async (type) => {
      const { event } = await watch.until(
        (frame) => frame.type === "event" && (frame["event"] as StoredEvent).type === type,
        type,
      );
      return event as StoredEvent;
    },
    send: (...frames) => {
      for (const frame of frames) recordClientFrame(frame);
      socket.send(JSON.stringify(frames.length === 1 ? frames[0] : frames));
    },
    closed: async () => {
      while (watch.ended === null) await pause();
      return watch.ended.code;
    },
    close: () => {
      watch.ended ??= { code: 1000 };
      socket.close(1000);
    },
  };
  socket.addEventListener("message", ({ data }) => {
    const value = JSON.parse(String(data)) as Frame | Frame[];
    for (const frame of Array.isArray(value) ? value : [value]) keep(watch, frame, filtered);
    watch.messages += 1;
    stir();
    watch.onMessage(watch.messages);
  });
  const end = (code: number): void => {
    watch.ended ??= { code };
    stir();
  };
  socket.addEventListener("close", ({ code }) => end(code));
  socket.addEventListener("error", () => end(1006));
  socket.accept();
  if (hello !== undefined) watch.send({ type: "hello", ...hello });
  return watch;
};

type Request = (method: string, path: string, sent?: Sent) => Promise<Response>;

/** Opens the socket of a session; without `hello` it asks for everything from the start. */
export const openWatch = async (
  session: string,
  hello: Hello | undefined,
  key: string,
  request: Request,
): Promise<Watch> => {
  const response = await request("GET", `/sessions/${session}/ws`, {
    key,
    headers: { Upgrade: "websocket" },
  });
  if (response.webSocket === null || response.webSocket === undefined)
    throw new Error(`no socket: ${response.status} ${await response.text()}`);
  return watchSocket(response.webSocket, hello ?? { after: 0 });
};

/** Whole texts of the items in a log, by item: what a client that missed nothing must show at the end (I3). */
export const finalTexts = (events: readonly StoredEvent[]): Map<string, string> => {
  const texts = new Map<string, string>();
  for (const event of events) {
    if (event.type !== "message_added" || event.data.message.role !== "assistant") continue;
    const { message } = event.data;
    const attempt = events.findLast(
      (each) => each.type === "llm_request_start" && each.seq < event.seq && each.turn === event.turn,
    )?.attempt;
    textItems(message).forEach((text, index) =>
      texts.set(`${event.run}.${event.turn}.${attempt}.${index}`, text),
    );
  }
  return texts;
};

const textItems = ({ parts }: ReportedMessage): readonly string[] =>
  parts.map((part) =>
    part.type === "text" || part.type === "reasoning"
      ? part.text
      : part.type === "tool_call"
        ? part.args
        : "",
  );
