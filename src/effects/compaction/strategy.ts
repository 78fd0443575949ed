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
  climb: CompactionResult,
  stage: CompactionStage,
  shadow: Shadow,
  attempts = 0,
): CompactionResult =>
  shadow.size < climb.shadow.size
    ? { ...climb, shadow, notices: [...climb.notices, createNotice(stage, climb.shadow, shadow, attempts)] }
    : climb;

const failStage = (
  climb: CompactionResult,
  stage: CompactionStage,
  error: string,
  attempts: number,
): CompactionResult => ({
  ...climb,
  failed: true,
  notices: [
    ...climb.notices,
    createNotice("failed", climb.shadow, climb.shadow, attempts, `${stage}: ${error}`),
  ],
});

const fitsLimit = ({ limit }: CompactionGoal, { shadow }: CompactionResult): boolean => shadow.size <= limit;

const rangeOf = ({ context: { view, unread }, keepTurns }: CompactionGoal): MessageRange =>
  rangeBefore(view, tailStart(view, unread, keepTurns));

const clearView = (
  aim: CompactionGoal,
  climb: CompactionResult,
  told: string | null = null,
): CompactionResult => {
  const { context, target, keepTurns, limit, window } = aim;
  const clearedTo = (goal: number): Shadow => clearHard(context, climb.shadow, goal, told, keepTurns);
  // Only the provider knows what fits an unknown window.
  if (context.force !== null) return applyStage(climb, "hard_clear", clearedTo(Math.min(limit, target)));
  const shadow = clearedTo(limit);
  if (shadow.size <= limit) return applyStage(climb, "hard_clear", shadow);
  const most = sendLimit(window);
  const least = clearedTo(most);
  return least.size > most ? { ...climb, hopeless: true } : applyStage(climb, "hard_clear", least);
};

const replaceByNote = (aim: CompactionGoal, climb: CompactionResult): CompactionResult => {
  const { context } = aim;
  const range = rangeOf(aim);
  const summary = noteMessage(context, range);
  const isSmaller = summaryTokens(context.tokens, summary) < tokensOf(climb.shadow, range.gone);
  if (range.blocks.length === 0 || !isSmaller) return climb;
  return applyStage(climb, "note", withRetired(climb.shadow, { runs: [range.gone], summary }));
};

const runLastStages = (aim: CompactionGoal, climb: CompactionResult): CompactionResult => {
  const note = replaceByNote(aim, climb);
  return fitsLimit(aim, note) ? note : clearView(aim, note);
};

/** Returns whether compaction ends with a failed summary, without the last two stages. */
const keepsOnFailure = ({ onFailure, only }: CompactionGoal): boolean =>
  onFailure === "keep" || only === "summary";

/** Decides what follows if no summary can be made: nothing while the request fits, else the last stages. */
const giveUp = (aim: CompactionGoal, climb: CompactionResult): CompactionResult => {
  if (fitsLimit(aim, climb) || keepsOnFailure(aim)) return climb;
  return runLastStages(aim, climb);
};

const applySummary = (
  climb: CompactionResult,
  stage: "full" | "partial",
  range: MessageRange,
  written: SummaryOutcome,
): CompactionResult =>
  written.ok
    ? applyStage(
        climb,
        stage,
        withRetired(climb.shadow, { runs: [range.gone], summary: written.text }),
        written.attempts,
      )
    : failStage(climb, stage, written.error, written.attempts);

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
  let climb = start;
  for (let round = 1; round <= maxRounds; round++) {
    const replies: RepliesByPrompt = new Map();
    const written = await summariseFull({ ...job, round }, replies);
    climb = applySummary(climb, "full", job.range, written);
    if (written.ok || aim.only === "summary") return climb;
    const rest = await summarisePartial({ ...job, round }, replies);
    climb = applySummary(climb, "partial", job.range, rest);
    if (rest.ok) return climb;
    if (aim.onFailure !== "ask" || !(await askForRetry(aim, round))) return climb;
  }
  return climb;
};

const runModelStages = async (
  aim: CompactionGoal,
  job: SummaryJob,
  start: CompactionResult,
): Promise<CompactionResult> => {
  const climb = await runSummaryStages(aim, job, start);
  const { retired } = climb.shadow;
  if (retired === null) return giveUp(aim, climb);
  const done = { ...climb, failed: false };
  return fitsLimit(aim, done) || aim.only === "summary" ? done : clearView(aim, done, retired.summary);
};

/** Runs stages until the size meets its target, or fits and nothing gentler is left; async only if a model is asked. */
export const runStages = (aim: CompactionGoal): CompactionResult | Promise<CompactionResult> => {
  const { context, size, target, only, instructions } = aim;
  let climb: CompactionResult = {
    shadow: shadowOf(context, size),
    notices: [],
    failed: false,
    hopeless: false,
  };
  if (only === "clear") return clearView(aim, climb);
  if (only === null) {
    const edge = tailStart(context.view, context.unread);
    climb = applyStage(climb, "mask", maskResults(climb.shadow, edge));
    if (climb.shadow.size <= target) return climb;
    climb = applyStage(climb, "trim", trimResults(climb.shadow, edge));
    if (climb.shadow.size <= target) return climb;
  }
  const window = summaryWindow(aim.window, context);
  if (only === null && transcriptBudget(window) <= leastBudget && !keepsOnFailure(aim))
    return runLastStages(aim, climb);
  const range = rangeOf(aim);
  const shown = tokensOf(climb.shadow, range.gone);
  const job: SummaryJob = { context, form: "compact", range, shown, window, instructions, round: 1 };
  return isWorthwhile(job) ? runModelStages(aim, job, climb) : giveUp(aim, climb);
};
