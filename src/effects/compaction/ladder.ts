import type { EffectContext, Notice } from "../../agent/definition/effect.ts";
import { budgetOf, leastBudget, summaryWindow } from "./chunks.ts";
import { hardCleared } from "./hard-clear.ts";
import { noteMessage } from "./note.ts";
import { notice } from "./notice.ts";
import type { Stage } from "./notice.ts";
import { sendLimit } from "./pace.ts";
import { rangeBefore, tailStart } from "./range.ts";
import type { Range } from "./range.ts";
import { masked, trimmed } from "./shorten.ts";
import { shadowOf, summaryTokens, tokensOf, withRetired } from "./shadow.ts";
import type { Shadow } from "./shadow.ts";
import { full, isWorthwhile, partial } from "./summarise.ts";
import type { Job, Replies, Written } from "./summarise.ts";

/** The rungs in their order, from the gentlest to the last. */

/** What the ladder is to reach, and how far it may go. */
export interface Aim {
  readonly context: EffectContext;
  readonly window: number;
  /** Size of the request as it stands. */
  readonly size: number;
  /** Size up to which a request fits. */
  readonly limit: number;
  /** Size at which it ends. */
  readonly target: number;
  readonly keepTurns: number;
  readonly onFailure: "ladder" | "keep" | "ask";
  readonly instructions: string | null;
  /** `summary`: rung 3 alone; `clear`: rung 6 alone. */
  readonly only: "summary" | "clear" | null;
}

/** How far it came. */
export interface Climb {
  readonly shadow: Shadow;
  readonly notices: readonly Notice[];
  /** No model could summarise. */
  readonly failed: boolean;
  /** Not even the last rung made it fit. */
  readonly hopeless: boolean;
}

const mostRounds = 3;
const answerTime = 600_000;

/** A rung was taken; one that changed nothing is not told. */
const stepped = (climb: Climb, stage: Stage, shadow: Shadow, attempts = 0): Climb =>
  shadow.size < climb.shadow.size
    ? { ...climb, shadow, notices: [...climb.notices, notice(stage, climb.shadow, shadow, attempts)] }
    : climb;

const stepFailed = (climb: Climb, stage: Stage, error: string, attempts: number): Climb => ({
  ...climb,
  failed: true,
  notices: [...climb.notices, notice("failed", climb.shadow, climb.shadow, attempts, `${stage}: ${error}`)],
});

const fits = ({ limit }: Aim, { shadow }: Climb): boolean => shadow.size <= limit;

const rangeOf = ({ context: { view, unread }, keepTurns }: Aim): Range =>
  rangeBefore(view, tailStart(view, unread, keepTurns));

const cleared = (aim: Aim, climb: Climb, told: string | null = null): Climb => {
  const { context, target, keepTurns, limit, window } = aim;
  const clearedTo = (goal: number): Shadow => hardCleared(context, climb.shadow, goal, told, keepTurns);
  // What fits an unknown window only the provider can tell.
  if (context.force !== null) return stepped(climb, "hard_clear", clearedTo(Math.min(limit, target)));
  const shadow = clearedTo(limit);
  if (shadow.size <= limit) return stepped(climb, "hard_clear", shadow);
  const most = sendLimit(window);
  const least = clearedTo(most);
  return least.size > most ? { ...climb, hopeless: true } : stepped(climb, "hard_clear", least);
};

const noted = (aim: Aim, climb: Climb): Climb => {
  const { context } = aim;
  const range = rangeOf(aim);
  const summary = noteMessage(context, range);
  const isSmaller = summaryTokens(context.tokens, summary) < tokensOf(climb.shadow, range.gone);
  if (range.blocks.length === 0 || !isSmaller) return climb;
  return stepped(climb, "note", withRetired(climb.shadow, { runs: [range.gone], summary }));
};

const lastRungs = (aim: Aim, climb: Climb): Climb => {
  const note = noted(aim, climb);
  return fits(aim, note) ? note : cleared(aim, note);
};

/** Whether a failed summary is the end: the last two rungs are out of the question. */
const isKept = ({ onFailure, only }: Aim): boolean => onFailure === "keep" || only === "summary";

/** What follows where no summary can be made: nothing while the request fits, else the last rungs. */
const resigned = (aim: Aim, climb: Climb): Climb => {
  if (fits(aim, climb) || isKept(aim)) return climb;
  return lastRungs(aim, climb);
};

const summarised = (climb: Climb, stage: "full" | "partial", range: Range, written: Written): Climb =>
  written.ok
    ? stepped(
        climb,
        stage,
        withRetired(climb.shadow, { runs: [range.gone], summary: written.text }),
        written.attempts,
      )
    : stepFailed(climb, stage, written.error, written.attempts);

const wantsRetry = async ({ context }: Aim, round: number): Promise<boolean> => {
  const answer = await context.ask({
    text: `The conversation is too long and could not be summarised (try ${round}). Continue without a summary, or retry?`,
    options: ["continue", "retry"],
    default: "continue",
    timeoutMs: answerTime,
  });
  return answer === "retry";
};

/** Rungs 3 and 4, and what follows if they fail. */
const told = async (aim: Aim, job: Job, start: Climb): Promise<Climb> => {
  let climb = start;
  for (let round = 1; round <= mostRounds; round++) {
    const replies: Replies = new Map();
    const written = await full({ ...job, round }, replies);
    climb = summarised(climb, "full", job.range, written);
    if (written.ok || aim.only === "summary") return climb;
    const rest = await partial({ ...job, round }, replies);
    climb = summarised(climb, "partial", job.range, rest);
    if (rest.ok) return climb;
    // Nobody is asked while nothing has to be given up.
    if (aim.onFailure !== "ask" || fits(aim, climb) || !(await wantsRetry(aim, round))) return climb;
  }
  return climb;
};

const deeper = async (aim: Aim, job: Job, start: Climb): Promise<Climb> => {
  const climb = await told(aim, job, start);
  const { retired } = climb.shadow;
  if (retired === null) return resigned(aim, climb);
  const done = { ...climb, failed: false };
  return fits(aim, done) || aim.only === "summary" ? done : cleared(aim, done, retired.summary);
};

/** Climbs until the request has its target, or fits and nothing gentler is left. A promise only where a model is asked. */
export const climbed = (aim: Aim): Climb | Promise<Climb> => {
  const { context, size, target, only, instructions } = aim;
  let climb: Climb = { shadow: shadowOf(context, size), notices: [], failed: false, hopeless: false };
  if (only === "clear") return cleared(aim, climb);
  if (only === null) {
    const edge = tailStart(context.view, context.unread);
    climb = stepped(climb, "mask", masked(climb.shadow, edge));
    if (climb.shadow.size <= target) return climb;
    climb = stepped(climb, "trim", trimmed(climb.shadow, edge));
    if (climb.shadow.size <= target) return climb;
  }
  const window = summaryWindow(aim.window, context);
  if (only === null && budgetOf(window) <= leastBudget && !isKept(aim)) return lastRungs(aim, climb);
  const range = rangeOf(aim);
  const shown = tokensOf(climb.shadow, range.gone);
  const job: Job = { context, form: "compact", range, shown, window, instructions, round: 1 };
  return isWorthwhile(job) ? deeper(aim, job, climb) : resigned(aim, climb);
};
