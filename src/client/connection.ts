import type { StreamEnd, StreamQuery, TakeFrames } from "./frames.ts";
import type { Http } from "./http.ts";
import { clientProblem, inTime, LimpetError } from "./http.ts";
import { page } from "./plain.ts";
import { delayAfter, pause } from "./retry.ts";
import { readSocket } from "./socket.ts";
import { readEventSource } from "./sse.ts";
import type { ProblemBody, Transcript } from "./transcript.ts";

/** This file keeps a session's stream: it connects again behind the last event until the server says that it never will. */

export interface ConnectionState {
  readonly status: Transcript["status"];
  readonly problem?: ProblemBody;
  readonly retry_at: number | null;
}

export interface ConnectionOptions {
  readonly http: Http;
  /** The path of the session, from `/v1` on. */
  readonly path: string;
  readonly WebSocket: typeof globalThis.WebSocket | undefined;
  /** Says what to read next; it is asked before each try, and may have to ask the server first. */
  readonly query: (signal: AbortSignal) => StreamQuery | Promise<StreamQuery>;
  readonly take: TakeFrames;
  readonly change: (state: ConnectionState) => void;
  /** Forgets what was read, since the session is another one than before; returns false if nothing can begin anew. */
  readonly restart: () => boolean;
}

export interface Connection {
  /** Tries at once. */
  readonly reconnect: () => void;
  /** Ends the stream and begins it again behind the last event. */
  readonly drop: () => void;
  readonly close: () => void;
}

/** After so many upgrades in a row that failed while the server answered, the stream is read without a WebSocket. */
const upgradesTried = 3;

/** The WebSocket is tried again after so many milliseconds. */
const upgradeEvery = 60_000;

/** No timer of the platform takes more milliseconds. */
const longestTimer = 2 ** 31 - 1;

/** A connection that has lived for so many milliseconds was healthy: the next failure is the first. */
const healthyAfter = 30_000;

/** Close codes of the WebSocket that no further try can mend, as the HTTP status that is meant. */
const finalCodes: Readonly<Record<number, ProblemBody>> = Object.fromEntries(
  (
    [
      [401, "unauthenticated", "the server refused the key"],
      [403, "scope_missing", "this key may not watch the session"],
      [404, "not_found", "no such session for this key"],
      [410, "not_found", "the session was deleted"],
      [426, "version_unsupported", "the client is too old"],
    ] as const
  ).map(([status, code, detail]) => [4000 + status, clientProblem(code, detail, { status })]),
);

const finalStatuses = [400, 401, 403, 404, 409, 410, 426];

const lost = clientProblem("connection_lost", "the connection broke off");

const unwelcome = clientProblem("stream_refused", "the server opened no WebSocket");

const unopened: StreamEnd = { code: 1006, opened: false };

/** How the tries of a connection went. */
interface Health {
  failures: number;
  upgradesFailed: number;
  /** The time at which the connection under way was live; null before. */
  liveAt: number | null;
}

/** Reads until the stream ends. A WebSocket that did not open may say nothing about why: then a request finds out. */
const readOnce = async (
  { http, path, WebSocket, query, take }: ConnectionOptions,
  health: Health,
  signal: AbortSignal,
): Promise<StreamEnd> => {
  try {
    const wanted = await inTime(query, signal);
    if (WebSocket === undefined || health.upgradesFailed >= upgradesTried) {
      // One try with a WebSocket follows after a while, and then this again if it fails.
      health.upgradesFailed = upgradesTried - 1;
      const lasts = WebSocket === undefined ? longestTimer : upgradeEvery;
      return await readEventSource({ http, path, query: wanted, take, signal, lasts });
    }
    const url = new URL(`${path.slice(1)}/ws`, http.url);
    const token = await http.token();
    // A page that may not open WebSockets is told by what the constructor throws.
    const end = await readSocket({ url, token, query: wanted, WebSocket, take, signal }).catch(
      () => unopened,
    );
    if (end.opened) health.upgradesFailed = 0;
    if (end.opened || signal.aborted || (end.problem ?? finalCodes[end.code]) !== undefined) return end;
    await inTime((limited) => http.fetch({ method: "GET", path, signal: limited }), signal);
    health.upgradesFailed += 1;
    return { ...end, problem: unwelcome };
  } catch (fault) {
    const problem = fault instanceof LimpetError ? fault.problem : clientProblem("failed", String(fault));
    return { code: 1006, opened: false, problem };
  }
};

/** Says why a stream is over for good; null if it is to be tried again. */
const finalProblem = (
  { code, opened, problem }: StreamEnd,
  wasLive: boolean,
  { http, restart }: ConnectionOptions,
): ProblemBody | null => {
  if (problem?.code === "cursor_ahead" && restart()) return null;
  if (problem !== undefined && !wasLive && finalStatuses.includes(problem.status)) return problem;
  const known = finalCodes[code];
  if (known === undefined || (code === 4401 && (http.renewToken() || opened))) return null;
  return problem ?? known;
};

/** Keeps the stream until it is closed or the server ends it for good. */
export const connect = (options: ConnectionOptions): Connection => {
  const closed = new AbortController();
  const health: Health = { failures: 0, upgradesFailed: 0, liveAt: null };
  /** Ends the try under way, or the pause before the next; `broken` ends only the try. */
  let current = new AbortController();
  let broken = new AbortController();

  const take: TakeFrames = (frames) => {
    const done = options.take(frames);
    if (health.liveAt === null && frames.some(({ type }) => type === "live")) {
      health.liveAt = Date.now();
      options.change({ status: "live", retry_at: null });
    }
    return done;
  };
  const finish = (problem?: ProblemBody): void => {
    closed.abort();
    options.change({ status: "closed", retry_at: null, ...(problem && { problem }) });
  };
  const tryOnce = async (): Promise<void> => {
    current = new AbortController();
    broken = new AbortController();
    health.liveAt = null;
    const signal = AbortSignal.any([closed.signal, current.signal]);
    const end = await readOnce({ ...options, take }, health, AbortSignal.any([signal, broken.signal]));
    if (closed.signal.aborted) return;
    const { liveAt } = health;
    const problem = finalProblem(end, liveAt !== null, options);
    if (problem !== null) return finish(problem);
    if (liveAt !== null && Date.now() - liveAt >= healthyAfter) health.failures = 0;
    const ms = current.signal.aborted ? 0 : delayAfter(health.failures);
    health.failures += 1;
    options.change({ status: "offline", retry_at: Date.now() + ms, problem: end.problem ?? lost });
    await pause(ms, signal);
    if (!closed.signal.aborted) options.change({ status: "connecting", retry_at: null });
  };
  const keep = async (): Promise<void> => {
    while (!closed.signal.aborted) await tryOnce();
  };
  // A socket whose network is gone says nothing of it for long.
  page.addEventListener?.("offline", () => broken.abort(), { signal: closed.signal });
  void keep();
  return {
    reconnect: () => current.abort(),
    drop: () => broken.abort(),
    close: () => {
      if (!closed.signal.aborted) finish();
    },
  };
};
