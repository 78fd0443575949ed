import { turnLimit } from "../budgets/limits.ts";
import type { Call } from "../state/call.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, appendNote, emit, nextMessageId, runOf, threadOf } from "../transaction/draft.ts";

/** This file adds the notes of the runtime between turns. */

/** Adds one note in a run that its turns run out, before the first turn from `warn_iterations` on. */
export const appendWrapUpNote = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  const { turn } = run;
  const { warnIterations, limits, tools } = agentOf(draft, threadId);
  if (warnIterations === 0 || turn < warnIterations || run.said.includes("turns_run_out")) return;
  const limit = turnLimit(limits, run);
  const most = limit === 0 ? "" : ` of at most ${limit}`;
  const end = tools.has("task_complete") ? "end with task_complete" : "give your final answer";
  const text = `This is turn ${turn + 1}${most}. Begin nothing new: finish what is under way, and ${end}.`;
  appendNote(draft, threadId, text);
  run.said = [...run.said, "turns_run_out"];
};

/**
 * Returns the turn of a checkpoint, rounded so that 0.07 of 100 is 7 and not the 8 that binary fractions make
 * of it.
 */
const turnOfCheckpoint = (fraction: number, limit: number): number =>
  Math.max(1, Math.ceil(Math.round(fraction * limit * 1e9) / 1e9));

/**
 * Adds every checkpoint that the next turn reaches, once in a run; a run without a limit of turns has none.
 */
export const appendCheckpoints = (draft: Draft, threadId: string): void => {
  const { checkpoints, limits } = agentOf(draft, threadId);
  if (checkpoints.length === 0) return;
  const run = runOf(draft, threadId);
  const turn = run.turn + 1;
  const limit = turnLimit(limits, run);
  const due = [...checkpoints.entries()]
    .filter(
      ([at, { fraction }]) =>
        limit > 0 && !run.said.includes(`checkpoint ${at}`) && turn >= turnOfCheckpoint(fraction, limit),
    )
    .sort(([, one], [, other]) => one.fraction - other.fraction);
  for (const [at, { fraction, message: text }] of due) {
    run.said = [...run.said, `checkpoint ${at}`];
    const message = nextMessageId(threadOf(draft, threadId));
    emit(draft, threadId, "checkpoint", { fraction, message, text }, { turn });
    appendNote(draft, threadId, text, "checkpoint");
  }
};

const mostReflections = 3;

const reflectionText = [
  "A call of your last reply failed. Before the next call, answer these questions:",
  "1. What exactly went wrong?",
  "2. What is its root cause?",
  "3. What will you do differently?",
].join("\n");

/** Returns whether a call failed; a command that ended by itself did not: its exit code is its result. */
const isFailed = ({ outcome }: Call): boolean =>
  outcome?.result.status === "error" && outcome.result.exit_code === undefined;

const isClean = ({ outcome }: Call): boolean =>
  outcome?.result.status === "ok" || outcome?.result.exit_code !== undefined;

/** Asks about the failed calls of a reply in a note after its results, three times in a row at most. */
export const reflectOnErrors = (draft: Draft, threadId: string, calls: readonly Call[]): void => {
  if (!agentOf(draft, threadId).reflectOnError) return;
  const { counters, cancel, stop } = runOf(draft, threadId);
  const failed = calls.some(isFailed);
  if (!failed && calls.some(isClean)) counters.reflections = 0;
  if (!failed || cancel !== null || stop !== null || counters.reflections >= mostReflections) return;
  counters.reflections += 1;
  appendNote(draft, threadId, reflectionText, "reflect_on_error");
};

/** Tells the agent of `main` once which files of the session's creation are not in the workspace. */
export const appendLostFiles = (draft: Draft, threadId: string): void => {
  const { lostFiles } = draft.state;
  if (lostFiles.length === 0 || threadId !== "main") return;
  const lines = lostFiles.map(({ path, reason }) => `- ${path}: ${reason}`);
  appendNote(draft, threadId, ["These files could not be put into the workspace:", ...lines].join("\n"));
  draft.state.lostFiles = [];
};
