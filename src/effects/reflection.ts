import * as z from "zod";
import type { Message } from "../chat/message.ts";
import { callsOf } from "../chat/view.ts";
import { count } from "../schema.ts";
import { defineBuiltIn } from "./built-in.ts";
import { toolResultOf } from "./shortened/texts.ts";

/** Failed replies in a row, up to the newest message that was counted. */
type FailureStreak = {
  /** `pos` of the newest message that was counted. */
  readonly last: number;
  readonly failures: number;
  /** Streak length that the newest note reported. */
  readonly reported: number;
};

const noFailures: FailureStreak = { last: -1, failures: 0, reported: 0 };

const reflectionNote = (failures: number): string =>
  [
    `The tool calls of ${failures} replies in a row have failed. Before the next call:`,
    "1. Analyse what went wrong in each of them.",
    "2. Name the root cause.",
    "3. Describe a strategy that differs from what you tried, and follow it.",
  ].join("\n");

const breakStreak = (streak: FailureStreak): FailureStreak => ({ ...streak, failures: 0, reported: 0 });

/** Counts a reply as failed if one result is an error and none is ok; others neither count nor break a streak. */
const countReply = (streak: FailureStreak, results: readonly Message[]): FailureStreak => {
  const statuses = results.map((message) => toolResultOf(message)?.status);
  if (statuses.includes("ok")) return breakStreak(streak);
  return statuses.includes("error") ? { ...streak, failures: streak.failures + 1 } : streak;
};

const resultsFrom = (view: readonly Message[], at: number): readonly Message[] => {
  const end = view.findIndex(({ role }, index) => index >= at && role !== "tool");
  return view.slice(at, end < 0 ? view.length : end);
};

/** Counts the run's new messages; a person's message breaks the streak, notes do not. */
const continueStreak = (streak: FailureStreak, view: readonly Message[], run: string): FailureStreak => {
  let next = streak;
  for (const [at, message] of view.entries()) {
    if (message.run !== run || message.pos <= streak.last || message.summary !== undefined) continue;
    if (message.role === "user" && message.origin === "human") next = breakStreak(next);
    if (callsOf(message).length > 0) next = countReply(next, resultsFrom(view, at + 1));
    next = { ...next, last: message.pos };
  }
  return next;
};

/** Asks for another strategy when the calls of several replies in a row have failed. */
export const reflection = defineBuiltIn({
  kind: "reflection",
  description: "Asks for another strategy after failures in a row.",
  phase: "before_complete",
  order: "inject",
  params: z.strictObject({ failure_threshold: count(1).default(2).describe("Failed replies in a row.") }),
  state: { initial: noFailures, reset: "run" },
  run: ({ iteration, view, run }, { failure_threshold: least }, streak) => {
    if (iteration === 0) return {};
    const state = continueStreak(streak, view, run);
    const { failures, reported } = state;
    if (failures < least || failures <= reported) return state.last === streak.last ? {} : { state };
    return {
      edits: [{ inject: { text: reflectionNote(failures) } }],
      state: { ...state, reported: failures },
    };
  },
});
