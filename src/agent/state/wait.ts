import type { ChildWait } from "./child.ts";

/** Wait until an attempt is made again, or a budget that calls under way have reserved is checked again. */
export interface RetryWait {
  readonly on: "retry" | "budget";
  readonly until: number;
}

/** Wait for a person's answer, which is stored under `key`; `until` is null while the ask is open. */
export interface AskWait {
  readonly on: "ask";
  readonly ask: string;
  readonly key?: string;
  readonly until: number | null;
}

/** What a call, an attempt, an effect or an announcement waits for; `until` is null if only others end the wait. */
export type Wait =
  | RetryWait
  | AskWait
  | { readonly on: "time" | "exec"; readonly until: number }
  | { readonly on: "task"; readonly task: string; readonly until: number }
  /** A wait for children, or, if null, for an answer of its caller. */
  | { readonly on: "thread"; readonly children: ChildWait | null; readonly until: number | null };

export const isDue = (wait: Wait | null, now: number): boolean => wait?.until != null && wait.until <= now;

/** Returns the wait for an ask that is still open; null if it is answered, or the wait is for something else. */
export const openAskOf = (wait: Wait | null): AskWait | null =>
  wait?.on === "ask" && wait.until === null ? wait : null;

export const childrenOf = (wait: Wait | null): ChildWait | null =>
  wait?.on === "thread" ? wait.children : null;

export const isForCaller = (wait: Wait | null): boolean => wait?.on === "thread" && wait.children === null;

export type CallWait = Exclude<Wait, RetryWait>;

/** Returns the milliseconds before something is tried again that failed so often: each pause is twice the one before. */
export const pauseAfter = (failures: number, first: number, most = Number.POSITIVE_INFINITY): number =>
  Math.min(most, first * 2 ** failures);

/** Work beside the runs that is tried again until it succeeds or is given up. */
export interface Retry {
  /** Number of tries that failed. */
  readonly tries: number;
  /** When the next try may begin, in milliseconds since the epoch. */
  readonly until: number;
}

/** Number of tries of a sandbox that does not answer, over a quarter of an hour, after which work is given up. */
export const mostSandboxTries = 10;

/** Returns work that failed once more; its next try begins after a pause in milliseconds. */
export const postpone = <T extends Retry>(work: T, now: number, first = 1_000, most?: number): T => ({
  ...work,
  tries: work.tries + 1,
  until: now + pauseAfter(work.tries, first, most),
});

export const isTryDue = ({ until }: Retry, now: number): boolean => until <= now;
