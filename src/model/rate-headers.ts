import { parseDuration } from "../schema.ts";

/** Access to response headers. */
export interface HeaderSource {
  get(name: string): string | null;
}

/** Reads a number from a header; returns undefined if it is missing, negative or unreadable. */
const readFigure = (text: string | null): number | undefined => {
  if (text === null || text.trim() === "") return undefined;
  const value = Number(text);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
};

const day = 86_400_000;
/** Longest plausible wait: longer ones are faults of servers; the limit keeps them within the calendar. */
const longestWait = 366 * day;
/** Longest window that vendors count over; a later reset would close the provider to all sessions on a wrong figure. */
const longestWindow = day;

/** Limits a wait to the longest plausible one. */
export const capWait = (ms: number): number => Math.min(Math.ceil(ms), longestWait);

/**
 * Returns the wait in milliseconds by `retry-after-ms` or `retry-after` (seconds or date); undefined if not
 * readable.
 */
export const readRetryAfter = (headers: HeaderSource, now: number): number | undefined => {
  const exact = readFigure(headers.get("retry-after-ms"));
  if (exact !== undefined) return capWait(exact);
  const text = headers.get("retry-after");
  const seconds = readFigure(text);
  if (seconds !== undefined) return capWait(seconds * 1000);
  if (text === null || !/[a-z]{3}/i.test(text)) return undefined;
  const date = Date.parse(text);
  return Number.isNaN(date) || date < now ? undefined : capWait(date - now);
};

/** Reads `x-should-retry`, which overrides whether a failure is retried. */
export const readShouldRetry = (headers: HeaderSource): boolean | undefined => {
  const text = headers.get("x-should-retry")?.toLowerCase();
  return text === "true" ? true : text === "false" ? false : undefined;
};

/** Reads a reset as milliseconds since the epoch: a date, a duration like `6m0.5s`, seconds from now, or an epoch. */
const readReset = (text: string, now: number): number | undefined => {
  const value = readFigure(text);
  if (value !== undefined) {
    if (value > 1e11) return value;
    return value > 1e9 ? value * 1000 : now + value * 1000;
  }
  const wait = parseDuration(text);
  if (wait !== null) return now + wait;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : date;
};

const windows = [
  ...["requests", "tokens", "input-tokens", "output-tokens"].map((kind) => ({
    remaining: `anthropic-ratelimit-${kind}-remaining`,
    reset: `anthropic-ratelimit-${kind}-reset`,
  })),
  ...["requests", "tokens"].map((kind) => ({
    remaining: `x-ratelimit-remaining-${kind}`,
    reset: `x-ratelimit-reset-${kind}`,
  })),
];

/**
 * Returns until when later calls should be held back, in milliseconds since the epoch: some window has at most one
 * left and resets within a day. A missing `remaining` does not mean exhaustion.
 */
export const readHoldUntil = (headers: HeaderSource, now: number): number | undefined => {
  let until: number | undefined;
  for (const { remaining, reset } of windows) {
    const left = readFigure(headers.get(remaining));
    if (left === undefined || left > 1) continue;
    const text = headers.get(reset);
    const at = text === null ? undefined : readReset(text.trim(), now);
    if (at !== undefined && at > now && at <= now + longestWindow)
      until = Math.max(until ?? 0, Math.ceil(at));
  }
  return until;
};
