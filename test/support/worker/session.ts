import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect } from "vitest";
import type { StoredEvent } from "../../../src/agent/state/events.ts";
import { readHead } from "../../../durable-objects/rows/event-log.ts";
import { sessionObjectName } from "../../../src/engine/access/names.ts";
import { checkAnswer } from "../documented.ts";
import type { Hello, Watch } from "./watch.ts";
import { openWatch } from "./watch.ts";

/** A client of the test Worker: everything goes through the router, as over a network; faults come from outside. */

const worker = exports as unknown as {
  readonly default: Fetcher;
  readonly SessionObject: DurableObjectNamespace;
};

const adminKey = "lk_admin_test_key_for_the_worker_tests_only";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, never>;
}

/** Sends one request with a credential; null = none. */
export const request = async (
  method: string,
  path: string,
  { body, raw, headers = {}, key = adminKey }: Sent = {},
): Promise<Response> => {
  const response = await worker.default.fetch(
    new Request(`https://limpet.example/v1${path}`, {
      method,
      headers: {
        ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(raw === undefined ? {} : { body: raw }),
    }),
  );
  if (response.status >= 400) await checkResponse(method, path, response.clone());
  return response;
};

/** Checks an answer with all of its text; returns the text. */
export const checkResponse = async (
  method: string,
  path: string,
  response: Response,
  sent?: unknown,
): Promise<string> => {
  const text = await response.text();
  const type = response.headers.get("Content-Type");
  checkAnswer({ method, path: `/v1${path}`, sent, status: response.status, type, text });
  return text;
};

export interface Sent {
  readonly body?: unknown;
  /** A body that is no JSON. */
  readonly raw?: BodyInit;
  readonly headers?: Record<string, string>;
  readonly key?: string | null;
}

export const api = async (method: string, path: string, sent: Sent = {}): Promise<Answer> => {
  const response = await request(method, path, sent);
  const text = await checkResponse(method, path, response, sent.body);
  return {
    status: response.status,
    headers: response.headers,
    body: (text === "" ? {} : JSON.parse(text)) as Answer["body"],
  };
};

/** What the storage of a session says, read past the session itself: looking wakes no run. */
export interface Peek {
  readonly tables: number;
  readonly busy: boolean;
  readonly alarm: number | null;
  readonly head: number;
  readonly items: number;
}

export interface Session {
  readonly id: string;
  readonly stub: () => DurableObjectStub;
  readonly call: (method: string, path?: string, sent?: Sent) => Promise<Answer>;
  /** Sends an input under its own id and expects it to be taken. */
  readonly send: (id: string, content: string, more?: object) => Promise<Answer>;
  /** Kills the object under whatever runs in it; sockets die too. */
  readonly crash: () => Promise<void>;
  /** Takes the object out of memory as the platform does at rest. */
  readonly evict: (webSockets?: "hibernate" | "close") => Promise<void>;
  readonly peek: () => Promise<Peek>;
  readonly sql: <T extends Record<string, SqlStorageValue>>(query: string) => Promise<T[]>;
  readonly events: () => Promise<StoredEvent[]>;
  readonly watch: (hello?: Hello, key?: string) => Promise<Watch>;
  /** Begins the alarm's work before the platform does, for a fault to strike it. */
  readonly rush: () => void;
  /** Waits until no run is active, or only people can move it; the alarm is all the help it gets. */
  readonly settled: () => Promise<void>;
  /** Waits until nothing is left that would wake the session. */
  readonly quiet: () => Promise<void>;
}

const tablesOf = ({ storage }: DurableObjectState): number =>
  storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name NOT GLOB '_cf_*'").toArray().length;

const look = async (state: DurableObjectState): Promise<Peek> => {
  const { sql } = state.storage;
  const alarm = await state.storage.getAlarm();
  const tables = tablesOf(state);
  const [session] = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'threads'").toArray();
  if (session === undefined) return { tables, alarm, busy: false, head: 0, items: 0 };
  const count = (query: string): number => sql.exec<{ n: number }>(query).one().n;
  return {
    tables,
    alarm,
    busy: count("SELECT count(*) AS n FROM turns WHERE json ->> '$.run' IS NOT NULL") > 0,
    head: readHead(sql),
    items: count("SELECT count(*) AS n FROM items"),
  };
};

const patience = 60_000;

/** How long to wait before looking again: longer each time, since many sessions wait seconds for their alarms at once. */
const shortestPause = 10;
const longestPause = 200;

/** Waits for only the expiry of an ask. */
const waitsForPeople = ({ busy, alarm }: Peek): boolean =>
  busy && alarm !== null && alarm > Date.now() + 3_600_000;

/** The handle of a session that exists, or not. */
export const sessionOf = async (id: string): Promise<Session> => {
  const name = sessionObjectName({ tenant: "default", jurisdiction: null }, id);
  const stub = (): DurableObjectStub => worker.SessionObject.getByName(name);
  const inside = <T>(work: (state: DurableObjectState) => T | Promise<T>): Promise<T> =>
    runInDurableObject(stub(), (_, state) => work(state));
  const until = async (come: (peek: Peek) => boolean): Promise<void> => {
    const end = Date.now() + patience;
    for (let pause = shortestPause; ; pause = Math.min(longestPause, 1.5 * pause)) {
      const peek = await session.peek().catch(() => null);
      if (peek !== null && come(peek)) return;
      if (Date.now() > end) throw new Error(`${id} never came to rest: ${JSON.stringify(peek)}`);
      await scheduler.wait(pause);
    }
  };
  const session: Session = {
    id,
    stub,
    call: (method, path = "", sent = {}) => api(method, `/sessions/${id}${path}`, sent),
    send: async (input, content, more = {}) => {
      const answer = await session.call("POST", "/messages", { body: { id: input, content, ...more } });
      expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 202 });
      return answer;
    },
    crash: () =>
      inside((state) => state.abort("power cut")).then(
        () => undefined,
        () => undefined,
      ),
    evict: async (webSockets = "hibernate") => {
      // An object that is not in memory cannot be evicted.
      await session.peek();
      await evictDurableObject(stub(), { webSockets });
    },
    peek: () => inside(look),
    sql: (query) => inside((state) => state.storage.sql.exec(query).toArray()) as Promise<never>,
    events: async () => {
      const all: StoredEvent[] = [];
      for (;;) {
        const { body } = await session.call("GET", `/events?after=${all.length}&limit=1000`);
        const { data, head_seq: head } = body as unknown as { data: StoredEvent[]; head_seq: number };
        all.push(...data);
        if (all.length >= head || data.length === 0) return all;
      }
    },
    watch: (hello, key = adminKey) => openWatch(id, hello, key, request),
    rush: () => {
      runInDurableObject(stub(), (instance) => instance.alarm?.()).catch(() => undefined);
    },
    settled: () => until((peek) => !peek.busy || waitsForPeople(peek)),
    quiet: () => until((peek) => !peek.busy && peek.alarm === null),
  };
  return session;
};

/** Creates a session of an agent; with `input` (id `i1`) its run starts at once. */
export const create = async (agent: string, input?: string, more: object = {}): Promise<Session> => {
  const { status, body } = await api("POST", "/sessions", {
    body: { agent, ...(input === undefined ? {} : { input: { id: "i1", content: input } }), ...more },
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return sessionOf(body["id"] ?? "");
};
