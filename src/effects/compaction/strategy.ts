import type { EffectContext, EffectNotice } from "../../agent/definition/effect.ts";
import { leastBudget, summaryWindow, transcriptBudget } from "./chunks.ts";
import { clearHard } from "./hard-clear.ts";
import { noteMessage } from "./note.ts";
import type { CompactionStage } from "./notice.ts";
import { createNotice } from "./notice.ts";
import { sendLimit } from "./pace.ts";
import type { MessageRange } from "./range.ts";
import { rangeBefore, tailStart } from "./range.ts";
import type { Shadow } from "./shadow.ts";
import { shadowOf, summaryTokens, tokensOf, withRetired } from "./shadow.ts";
import { maskResults, trimResults } from "./shorten.ts";
import type { RepliesByPrompt, SummaryJob, SummaryOutcome } from "./summarise.ts";
import { isWorthwhile, summariseFull, summarisePartial } from "./summarise.ts";

/** Runs the compaction stages from the gentlest to the last. */

/** Goal of the strategy, and its limits. */
export interface CompactionGoal {
  readonly context: EffectContext;
  readonly window: number;
  /** Size of the request before compaction. */
  readonly size: number;
  /** Largest size at which a request fits. */
  readonly limit: number;
  /** Size at which compaction ends. */
  readonly target: number;
  readonly keepTurns: number;
  readonly onFailure: "ladder" | "keep" | "ask";
  readonly instructions: string | null;
  /** `summary` runs only the full summary, `clear` only the last stage. */
  readonly only: "summary" | "clear" | null;
}

/** Result of the strategy. */
export interface CompactionResult {
  readonly shadow: Shadow;
  readonly notices: readonly EffectNotice[];
  /** Whether no model could summarise. */
  readonly failed: boolean;
  /** Whether not even the last stage made the request fit. */
  readonly hopeless: boolean;
}

const maxRounds = 3;

const answerTime = 600_000;

/** Records a stage; one that changed nothing is not reported. */
const applyStage = (
  result: CompactionResult,
  stage: CompactionStage,
  shadow: Shadow,
  attempts = 0,
): CompactionResult =>
  shadow.size < result.shadow.size
    ? {
        ...result,
        shadow,
        notices: [...result.notices, createNotice(stage, result.shadow, shadow, attempts)],
      }
    : result;

const failStage = (
  result: CompactionResult,
  stage: CompactionStage,
  error: string,
  attempts: number,
): CompactionResult => ({
  ...result,
  failed: true,
  notices: [
    ...result.notices,
    createNotice("failed", result.shadow, result.shadow, attempts, `${stage}: ${error}`),
  ],
});

const fitsLimit = ({ limit }: CompactionGoal, { shadow }: CompactionResult): boolean => shadow.size <= limit;

/** Returns the index from which no stage but the last changes anything. */
const keptFrom = ({ context: { view, unread }, keepTurns }: CompactionGoal): number =>
  tailStart(view, unread, keepTurns);

const rangeOf = (aim: CompactionGoal): MessageRange => rangeBefore(aim.context.view, keptFrom(aim));

const clearView = (
  aim: CompactionGoal,
  result: CompactionResult,
  told: string | null = null,
): CompactionResult => {
  const { context, target, keepTurns, limit, window } = aim;
  const clearedTo = (goal: number): Shadow => clearHard(context, result.shadow, goal, told, keepTurns);
  // Only the provider knows what fits an unknown window.
  if (context.force !== null) return applyStage(result, "hard_clear", clearedTo(Math.min(limit, target)));
  const shadow = clearedTo(limit);
  if (shadow.size <= limit) return applyStage(result, "hard_clear", shadow);
  const most = sendLimit(window);
  const least = clearedTo(most);
  return least.size > most ? { ...result, hopeless: true } : applyStage(result, "hard_clear", least);
};

const replaceByNote = (aim: CompactionGoal, result: CompactionResult): CompactionResult => {
  const { context } = aim;
  const range = rangeOf(aim);
  const summary = noteMessage(context, range);
  const isSmaller = summaryTokens(context.tokens, summary) < tokensOf(result.shadow, range.gone);
  if (range.blocks.length === 0 || !isSmaller) return result;
  return applyStage(result, "note", withRetired(result.shadow, { runs: [range.gone], summary }));
};

const runLastStages = (aim: CompactionGoal, result: CompactionResult): CompactionResult => {
  const note = replaceByNote(aim, result);
  return fitsLimit(aim, note) ? note : clearView(aim, note);
};

/** Returns whether compaction ends with a failed summary, without the last two stages. */
const keepsOnFailure = ({ onFailure, only }: CompactionGoal): boolean =>
  onFailure === "keep" || only === "summary";

/** Decides what follows if no summary can be made: nothing while the request fits, else the last stages. */
const giveUp = (aim: CompactionGoal, result: CompactionResult): CompactionResult => {
  if (fitsLimit(aim, result) || keepsOnFailure(aim)) return result;
  return runLastStages(aim, result);
};

const applySummary = (
  result: CompactionResult,
  stage: "full" | "partial",
  range: MessageRange,
  written: SummaryOutcome,
): CompactionResult =>
  written.ok
    ? applyStage(
        result,
        stage,
        withRetired(result.shadow, { runs: [range.gone], summary: written.text }),
        written.attempts,
      )
    : failStage(result, stage, written.error, written.attempts);

const askForRetry = async ({ context }: CompactionGoal, round: number): Promise<boolean> => {
  const answer = await context.ask({
    text: `The conversation is too long and could not be summarised (try ${round}). Continue without a summary, or retry?`,
    options: ["continue", "retry"],
    default: "continue",
    timeoutMs: answerTime,
  });
  return answer === "retry";
};

/** Tries the full summary, then the partial one, and may ask about a retry if both fail. */
const runSummaryStages = async (
  aim: CompactionGoal,
  job: SummaryJob,
  start: CompactionResult,
): Promise<CompactionResult> => {
  let result = start;
  for (let round = 1; round <= maxRounds; round++) {
    const replies: RepliesByPrompt = new Map();
    const written = await summariseFull({ ...job, round }, replies);
    result = applySummary(result, "full", job.range, written);
    if (written.ok || aim.only === "summary") return result;
    const rest = await summarisePartial({ ...job, round }, replies);
    result = applySummary(result, "partial", job.range, rest);
    if (rest.ok) return result;
    if (aim.onFailure !== "ask" || !(await askForRetry(aim, round))) return result;
  }
  return result;
};

const runModelStages = async (
  aim: CompactionGoal,
  job: SummaryJob,
  start: CompactionResult,
): Promise<CompactionResult> => {
  const result = await runSummaryStages(aim, job, start);
  const { retired } = result.shadow;
  if (retired === null) return giveUp(aim, result);
  const done = { ...result, failed: false };
  return fitsLimit(aim, done) || aim.only === "summary" ? done : clearView(aim, done, retired.summary);
};

/** Runs stages until the size meets its target, or fits and nothing gentler is left; async only if a model is asked. */
export const runStages = (aim: CompactionGoal): CompactionResult | Promise<CompactionResult> => {
  const { context, size, target, only, instructions } = aim;
  let result: CompactionResult = {
    shadow: shadowOf(context, size),
    notices: [],
    failed: false,
    hopeless: false,
  };
  if (only === "clear") return clearView(aim, result);
  if (only === null) {
    const edge = keptFrom(aim);
    result = applyStage(result, "mask", maskResults(result.shadow, edge));
    if (result.shadow.size <= target) return result;
    result = applyStage(result, "trim", trimResults(result.shadow, edge));
    if (result.shadow.size <= target) return result;
  }
  const window = summaryWindow(aim.window, context);
  if (only === null && transcriptBudget(window) <= leastBudget && !keepsOnFailure(aim))
    return runLastStages(aim, result);
  const range = rangeOf(aim);
  const shown = tokensOf(result.shadow, range.gone);
  const job: SummaryJob = { context, form: "compact", range, shown, window, instructions, round: 1 };
  return isWorthwhile(job) ? runModelStages(aim, job, result) : giveUp(aim, result);
};
