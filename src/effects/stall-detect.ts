import * as z from "zod";
import type { CallRecord } from "../agent/state/records.ts";
import { count, fraction } from "../schema.ts";
import { defineBuiltIn } from "./built-in.ts";

/** Progress of a run's calls, up to the newest record that was counted. */
type Stall = {
  /** Number of the newest record that was counted. */
  readonly last: number;
  /** Fingerprints of the newest calls, at most as many as the window holds. */
  readonly prints: readonly string[];
  /** Number of calls since the model was nudged; null if it has not been. */
  readonly since: number | null;
};

const noStall: Stall = { last: 0, prints: [], since: null };

const fingerprint = ({ tool, args, status, outcome }: CallRecord): string =>
  `${tool} ${args} ${status} ${outcome}`;

interface StallMeasure {
  readonly window: number;
  readonly similarity_threshold: number;
}

const isStalled = ({ prints }: Stall, { window, similarity_threshold: share }: StallMeasure): boolean =>
  prints.length === window && 1 - (new Set(prints).size - 1) / window >= share;

/**
 * Counts a record: a successful change of the workspace or a store is progress, and so is a window of calls that
 * differ. A poll that waits for something slow is neither: the guard against loops handles it.
 */
const followRecord = (stall: Stall, record: CallRecord, measure: StallMeasure): Stall => {
  const last = record.n;
  if (record.poll) return { ...stall, last };
  if (record.changed && record.status === "ok") return { ...noStall, last };
  const prints = [...stall.prints, fingerprint(record)].slice(-measure.window);
  const next = { last, prints, since: stall.since === null ? null : stall.since + 1 };
  return isStalled(next, measure) ? next : { ...next, since: null };
};

/** Counts the run's new records; if some are missing, starts again after them. */
const continueStall = (
  stall: Stall,
  calls: readonly CallRecord[],
  run: string,
  measure: StallMeasure,
): Stall => {
  const added = calls.filter((record) => record.run === run && record.n > stall.last);
  const first = added[0]?.n ?? stall.last + 1;
  const known = stall.last > 0 && first > stall.last + 1 ? noStall : stall;
  return added.reduce((each, record) => followRecord(each, record, measure), known);
};

const nudgeText = (window: number): string =>
  `Your last ${window} calls went round in circles: the same calls had the same outcomes, and nothing was changed. Say what you still need to know or do, and take a step that you have not taken yet.`;

const stopReason = (window: number): string =>
  `the calls went round in circles, and went on so for ${window} calls after the model was told`;

/** Nudges a run whose calls go round in circles, and ends it if that does not help. */
export const stallDetect = defineBuiltIn({
  kind: "stall_detect",
  description: "Ends a run that goes round in circles.",
  phase: "before_complete",
  order: "inject",
  readsCalls: true,
  params: z.strictObject({
    window: count(3, 200).default(6).describe("Number of the newest calls that are compared."),
    similarity_threshold: fraction().default(0.8).describe("Share of equal calls that counts as a stall."),
  }),
  state: { initial: noStall, reset: "run" },
  run: ({ calls, run }, measure, stall) => {
    const { window } = measure;
    const state = continueStall(stall, calls, run, measure);
    if (!isStalled(state, measure)) return state.last === stall.last ? {} : { state };
    if (state.since === null)
      return { edits: [{ inject: { text: nudgeText(window) } }], state: { ...state, since: 0 } };
    if (state.since < window) return state.last === stall.last ? {} : { state };
    return { state, stop: { reason: "no_progress", message: stopReason(window) } };
  },
});
