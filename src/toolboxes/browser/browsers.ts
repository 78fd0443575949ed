import { fieldsOf } from "../../chat/json.ts";
import { limitTime } from "../../sandbox/time-limit.ts";
import type { BrowserReach } from "../../tools/egress/browser-page.ts";
import type { ToolContext } from "../../tools/define-tool.ts";
import { createDevtools } from "./devtools.ts";
import type { Devtools } from "./devtools.ts";
import { BrowserFailure } from "./failure.ts";

/** Opens browsers of the platform: each session has its own while it runs, and connects to it for each call. */

/** Milliseconds after which an unused browser closes itself. */
const keepAliveMs = 600_000;

const standardWaitMs = 1_000;

/** Milliseconds within which the platform opens a browser, or not at all. */
const longestOpeningMs = 60_000;

const longestAnswerMs = 10_000;

/** Returns the milliseconds to wait by a `Retry-After` of seconds or a date. */
const waitOf = (header: string | null, now: number): number => {
  if (header === null) return standardWaitMs;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : standardWaitMs;
};

/** Opens a browser and returns its id; waits while the platform has none available, if the deadline permits. */
export const acquireBrowser = async (
  { browser, pause, now, deadline }: Pick<ToolContext, "browser" | "pause" | "now" | "deadline">,
  life: AbortSignal,
): Promise<string> => {
  for (;;) {
    life.throwIfAborted();
    // A request cut off by the end of the call would leave a browser whose id is unknown.
    const { answer, text } = await limitTime(longestOpeningMs, undefined, async (signal) => {
      const path = `/v1/devtools/browser?keep_alive=${keepAliveMs}`;
      const answer = await browser.request(path, { method: "POST", signal });
      return { answer, text: await answer.text() };
    });
    if (answer.ok) {
      const { sessionId } = fieldsOf(JSON.parse(text));
      if (typeof sessionId === "string") return sessionId;
    }
    if (answer.status !== 429)
      throw new BrowserFailure(
        "unavailable",
        `no browser could be opened (status ${answer.status}); try again later`,
      );
    const wait = waitOf(answer.headers.get("retry-after"), now());
    if (now() + wait >= deadline) {
      const seconds = Math.ceil(wait / 1_000);
      throw new BrowserFailure("unavailable", `all browsers are in use; try again in ${seconds} s`);
    }
    life.throwIfAborted();
    await pause(Math.max(wait, standardWaitMs));
  }
};

const mostTries = 4;
const betweenTriesMs = 300;

/** Requests a connection once; returns null if none was open in time. */
const requestConnection = async (
  { request }: BrowserReach,
  id: string,
  life: AbortSignal,
): Promise<Response | null> => {
  const opening = new AbortController();
  const stop = (): void => opening.abort();
  const timer = setTimeout(stop, longestAnswerMs);
  life.addEventListener("abort", stop);
  const init = { headers: { Upgrade: "websocket" }, signal: opening.signal };
  const answer = await request(`/v1/devtools/browser/${encodeURIComponent(id)}`, init).catch(() => null);
  clearTimeout(timer);
  life.removeEventListener("abort", stop);
  return answer;
};

const isGone = (answer: Response | null): boolean => answer?.status === 404 || answer?.status === 410;

const endWith = (life: AbortSignal, devtools: Devtools): Devtools => {
  if (life.aborted) devtools.close();
  else life.addEventListener("abort", devtools.close);
  return devtools;
};

/**
 * Connects to an open browser until `life` ends; returns null if it cannot be reached. Retries a browser that
 * another call is just leaving.
 */
export const connectBrowser = async (
  { browser, pause }: Pick<ToolContext, "browser" | "pause">,
  id: string,
  life: AbortSignal,
): Promise<Devtools | null> => {
  for (let tries = 1; ; tries += 1) {
    life.throwIfAborted();
    const answer = await requestConnection(browser, id, life);
    const socket = answer?.webSocket ?? null;
    if (socket !== null) {
      socket.accept();
      return endWith(life, createDevtools(socket));
    }
    await answer?.body?.cancel();
    if (tries === mostTries || isGone(answer)) return null;
    await pause(betweenTriesMs);
  }
};

/** Closes a browser with all its pages. */
export const closeBrowser = (reach: BrowserReach, id: string): Promise<void> =>
  limitTime(longestAnswerMs, undefined, async (signal) => {
    const path = `/v1/devtools/browser/${encodeURIComponent(id)}`;
    const answer = await reach.request(path, { method: "DELETE", signal });
    await answer.body?.cancel();
  });
