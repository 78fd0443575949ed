import * as z from "zod";
import type { EffectContext, EffectResult } from "../agent/definition/effect.ts";
import { blockStart } from "../chat/blocks.ts";
import type { Message } from "../chat/message.ts";
import { textOf } from "../chat/text.ts";
import { count } from "../schema.ts";
import { defineBuiltIn } from "./built-in.ts";
import { summaryWindow } from "./compaction/chunks.ts";
import { createNotice } from "./compaction/notice.ts";
import { paceAfterFailure, steadyPace, waitForPace } from "./compaction/pace.ts";
import type { Pace } from "./compaction/pace.ts";
import { rangeBefore, tailStart } from "./compaction/range.ts";
import type { MessageRange } from "./compaction/range.ts";
import { editsOf, shadowOf, tokensOf, withRetired } from "./compaction/shadow.ts";
import type { Shadow } from "./compaction/shadow.ts";
import { shortenMessages } from "./compaction/shorten.ts";
import { summariseFull, isWorthwhile } from "./compaction/summarise.ts";
import type { SummaryJob, SummaryOutcome } from "./compaction/summarise.ts";
import { truncateEnd, okResultOf } from "./shortened/texts.ts";
import { thresholdSchema } from "./threshold.ts";

/** Keeps recent messages whole, cuts earlier results, and replaces the rest by one running summary. */

const windowParams = z.strictObject({
  threshold: thresholdSchema(0.7),
  recent_zone: count().default(10).describe("Newest messages that stay whole."),
  medium_zone: count().default(10).describe("Messages before them whose results are cut."),
  trim_length: count().default(200).describe("Characters that are kept of a result in the middle zone."),
});
type WindowParams = z.output<typeof windowParams>;

/** Start of the middle and of the recent zone; both edges are moved to older messages so that no block is split. */
interface Zones {
  readonly medium: number;
  readonly recent: number;
}

const zonesOf = (
  { view, unread }: Pick<EffectContext, "view" | "unread">,
  { recent_zone, medium_zone }: WindowParams,
): Zones => {
  const counted = [...view.keys()].filter((at) => view[at]?.summary === undefined);
  const edge = (before: number, size: number): number => {
    const at = counted.filter((index) => index < before).at(-size);
    if (size === 0) return before;
    return at === undefined ? 0 : blockStart(view, at);
  };
  const recent = Math.min(edge(view.length, recent_zone), tailStart(view, unread));
  return { recent, medium: edge(recent, medium_zone) };
};

const truncateResults = (shadow: Shadow, zone: readonly Message[], max: number): Shadow => {
  const shorter = (message: Message): string | null => {
    const result = okResultOf(message);
    if (result === null) return null;
    const text = textOf(result.content);
    const cut = truncateEnd(text, max);
    return cut === text ? null : cut;
  };
  return shortenMessages(shadow, zone, shorter, true);
};

/** Plan for the view once it is known whether there is a summary. */
interface SlidePlan {
  readonly given: WindowParams;
  readonly start: Shadow;
  readonly range: MessageRange;
  readonly medium: readonly Message[];
}

const moveWindow = (
  { given, start, range, medium }: SlidePlan,
  written: Extract<SummaryOutcome, { ok: true }> | null,
): EffectResult<Pace> => {
  const evicted =
    written === null ? start : withRetired(start, { runs: [range.gone], summary: written.text });
  const shadow = truncateResults(evicted, medium, given.trim_length);
  const edits = editsOf(shadow);
  if (edits.length === 0) return {};
  return { edits, state: steadyPace, notify: [createNotice("window", start, shadow, written?.attempts)] };
};

const keepWindow = (
  { start }: SlidePlan,
  { error, attempts }: Extract<SummaryOutcome, { ok: false }>,
): EffectResult<Pace> => ({
  state: paceAfterFailure,
  notify: [createNotice("failed", start, start, attempts, `window: ${error}`)],
});

const slideWindow = (
  context: EffectContext,
  given: WindowParams,
): EffectResult<Pace> | Promise<EffectResult<Pace>> => {
  const { view, size } = context;
  const { medium, recent } = zonesOf(context, given);
  const start = shadowOf(context, size);
  const range = rangeBefore(view, medium);
  const plan: SlidePlan = { given, start, range, medium: view.slice(medium, recent) };
  const shown = tokensOf(start, range.gone);
  const window = summaryWindow(context.window, context);
  const job: SummaryJob = { context, form: "window", range, shown, window, instructions: null, round: 1 };
  if (!isWorthwhile(job)) return moveWindow(plan, null);
  return summariseFull(job, new Map()).then((written) =>
    written.ok ? moveWindow(plan, written) : keepWindow(plan, written),
  );
};

/** Keeps exactly one summary, which is durable: it is the message that replaces the old zone. */
export const slidingWindow = defineBuiltIn({
  kind: "sliding_window",
  description: "Keeps a recent zone, shortens a middle one, summarises the rest.",
  phase: "before_complete",
  order: "shrink",
  params: windowParams,
  state: { initial: steadyPace, reset: "never" },
  run: (context, given, pace) => waitForPace(context, given.threshold, pace) ?? slideWindow(context, given),
});
