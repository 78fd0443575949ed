import * as z from "zod";
import { argsDigest } from "../agent/context/history.ts";
import type { Message } from "../chat/message.ts";
import { preview } from "../chat/text.ts";
import { callsOf } from "../chat/view.ts";
import { count } from "../schema.ts";
import { defineBuiltIn } from "./built-in.ts";

/** Length of the repeated pattern: a single call, or a cycle of two or three. */
type Period = 1 | 2 | 3;
const periods: readonly Period[] = [1, 2, 3];

/** Repetition of a run's calls, up to the newest reply that was counted. */
type Repeats = {
  /** `pos` of the newest reply that was counted. */
  readonly last: number;
  /** Newest calls, at most three: tool and digest of the arguments. */
  readonly calls: readonly (readonly [tool: string, args: string])[];
  /** For each period, how many calls at the tail equal the call that many positions before them. */
  readonly equal: readonly [number, number, number];
  /** Repeat count that the newest note reported. */
  readonly reported: number;
};

const noRepeats: Repeats = { last: -1, calls: [], equal: [0, 0, 0], reported: 0 };

type RepeatedCall = Repeats["calls"][number];

const isEqual = (a: RepeatedCall, b: RepeatedCall | undefined): boolean => a[0] === b?.[0] && a[1] === b[1];

interface FoundLoop {
  readonly period: Period;
  /** Number of equal calls, or of full repeats of the cycle. */
  readonly count: number;
}

/**
 * Returns the most frequent repeat that can reach the threshold within the window; a streak may grow beyond the
 * window.
 */
const findLoop = ({ equal, calls }: Repeats, threshold: number, window: number): FoundLoop => {
  const found = periods
    .filter((period) => threshold * period <= window && calls.length >= period)
    .map((period) => ({ period, count: Math.floor(((equal[period - 1] ?? 0) + period) / period) }));
  return found.reduce((best, each) => (each.count > best.count ? each : best), { period: 1, count: 1 });
};

const followCall = (repeats: Repeats, call: RepeatedCall): Repeats => {
  const streak = (period: Period): number =>
    isEqual(call, repeats.calls.at(-period)) ? (repeats.equal[period - 1] ?? 0) + 1 : 0;
  return { ...repeats, calls: [...repeats.calls.slice(-2), call], equal: [streak(1), streak(2), streak(3)] };
};

/** Counts the calls in the run's new replies, in the order of their parts. */
const continueRepeats = (
  repeats: Repeats,
  view: readonly Message[],
  run: string,
  isLoop: (repeats: Repeats) => boolean,
): Repeats => {
  let next = repeats;
  for (const message of view) {
    if (message.run !== run || message.pos <= repeats.last) continue;
    for (const { name, args } of callsOf(message)) {
      next = followCall(next, [preview(name, 64), argsDigest(args)]);
      if (!isLoop(next)) next = { ...next, reported: 0 };
    }
    next = { ...next, last: message.pos };
  }
  return next;
};

const loopNote = ({ period, count: times }: FoundLoop, { calls }: Repeats, isLate: boolean): string => {
  const names = calls.slice(-period).map(([tool]) => tool);
  const what =
    period === 1
      ? `You have called ${names[0] ?? ""} ${times} times in a row with the same arguments.`
      : `You have gone ${times} times through the same ${period} calls with the same arguments: ${names.join(", ")}.`;
  return isLate
    ? `${what} Stop: do not make this call again. Report what you were trying to do, the result, and what blocks you.`
    : `${what} Doing it once more will not change the outcome: try a different approach, or another tool.`;
};

/** Notes that the same calls are repeated; never ends a run. */
export const loopDetect = defineBuiltIn({
  kind: "loop_detect",
  description: "Notes that the same call is repeated.",
  phase: "before_complete",
  order: "inject",
  params: z.strictObject({
    threshold: count(2).default(3).describe("Equal calls from which a note is given."),
    window_size: count(2).default(10).describe("Number of the newest calls that are compared."),
  }),
  state: { initial: noRepeats, reset: "run" },
  run: ({ iteration, view, run }, { threshold, window_size: window }, repeats) => {
    if (iteration === 0) return {};
    const count = (each: Repeats): number => findLoop(each, threshold, window).count;
    const state = continueRepeats(repeats, view, run, (each) => count(each) >= threshold);
    const loop = findLoop(state, threshold, window);
    if (loop.count < threshold || loop.count <= state.reported)
      return state.last === repeats.last ? {} : { state };
    const text = loopNote(loop, state, loop.count >= 2 * threshold);
    return { edits: [{ inject: { text } }], state: { ...state, reported: loop.count } };
  },
});
