import { guardAnswer } from "../hooks/middleware.ts";
import { startVerification, describeCheck, verificationWorkOf } from "../hooks/preparing.ts";
import type { Run } from "../state/run.ts";
import type { AfterVerification, VerificationWork } from "../state/phase.ts";
import { lastCharacters } from "../../chat/text.ts";
import { limitOutput } from "../../tools/output.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, appendNote, emit, keepForRecall, runOf } from "../transaction/draft.ts";
import { concludeRun, findOutputProblems } from "./finish.ts";
import { startRepair } from "./turns.ts";

/** Decides by the outcome of a check whether the run goes on, ends, or is repaired first. */

/** How a check ended. */
export type CheckOutcome =
  | { readonly is: "passed" | "failed"; readonly exitCode: number; readonly output: string }
  /** The command could not be run, or its outcome is unknown. */
  | { readonly is: "error"; readonly exitCode?: number; readonly output: string }
  /** No command is configured, and no file of the workspace suggests one. */
  | { readonly is: "no_command" };

const longestTail = 2_000;

const longestOutput = 32_000;

const report = (draft: Draft, threadId: string, work: VerificationWork, outcome: CheckOutcome): void => {
  const about = describeCheck(work, runOf(draft, threadId).verification);
  if (outcome.is === "no_command") {
    emit(draft, threadId, "verify", { state: "skipped", ...about });
    return;
  }
  const { is: state, exitCode, output } = outcome;
  const code = exitCode === undefined ? {} : { exit_code: exitCode };
  emit(draft, threadId, "verify", {
    state,
    ...about,
    ...code,
    output_tail: lastCharacters(output, longestTail),
  });
};

/** Stores the outcome of an ended check together with what follows from it. */
export const applyVerification = (draft: Draft, threadId: string, outcome: CheckOutcome): void => {
  const run = runOf(draft, threadId);
  const work = verificationWorkOf(run);
  if (work === null) return;
  report(draft, threadId, work, outcome);
  run.phase = { at: "ready" };
  run.counters.deadAttempts = 0;
  if (work.what === "breach") endBreachedRun(draft, threadId, outcome.is === "passed");
  else followEdits(draft, threadId, work, outcome);
};

/** Completes a run that used up its turns if its work passes; otherwise the run failed. */
const endBreachedRun = (draft: Draft, threadId: string, passed: boolean): void => {
  const run = runOf(draft, threadId);
  run.verification = { of: "breach", outcome: passed ? "passed" : "failed" };
  const reason = "max_iterations";
  run.ending = passed
    ? (guardLastText(draft, threadId) ?? { state: "completed", reason, error: null })
    : { state: "failed", reason, error: run.stop?.error ?? null };
};

/** Withholds a refused text, since no turn is left to repair it; only a hook that threw fails the run. */
const guardLastText = (draft: Draft, threadId: string): Run["ending"] => {
  const fits = findOutputProblems(draft, threadId).length === 0;
  const end = guardAnswer(draft, threadId, "terminal_tool");
  if (!fits || end.do === "retry") runOf(draft, threadId).counters.withheld = true;
  if (end.do !== "fail" || end.reason !== "effect_failed") return null;
  return { state: "failed", reason: end.reason, error: end.error };
};

const followEdits = (draft: Draft, threadId: string, work: VerificationWork, outcome: CheckOutcome): void => {
  const run = runOf(draft, threadId);
  const { verification } = run;
  if (verification?.of !== "edits") return;
  const { broad, retries } = agentOf(draft, threadId).verification ?? { broad: "", retries: 0 };
  const { repairs } = verification;
  if (outcome.is === "passed" && work.what === "edits" && broad !== "")
    startVerification(draft, threadId, true);
  else if (outcome.is === "failed" && repairs < retries) {
    startCheckRepair(draft, threadId, work, outcome);
    run.verification = { ...verification, repairs: repairs + 1, next: null };
  } else {
    if (outcome.is === "failed")
      emit(draft, threadId, "verify", { state: "exhausted", ...describeCheck(work, verification) });
    run.verification = outcome.is === "error" ? { of: "nothing" } : null;
    run.turnWork = { ...run.turnWork, edited: false };
    goOn(draft, threadId, verification.next);
  }
};

/** Goes on with the end that the check held up, unless another turn follows. */
const goOn = (draft: Draft, threadId: string, next: AfterVerification | null): void => {
  if (next === "end_turn" || next === "terminal_tool") concludeRun(draft, threadId, next);
};

/** Lets the model read what the command said and repair it in a repair turn. */
const startCheckRepair = (
  draft: Draft,
  threadId: string,
  { command }: VerificationWork,
  { exitCode, output }: { readonly exitCode: number; readonly output: string },
): void => {
  const { text, omitted, full } = limitOutput(output, longestOutput, `b${draft.state.nextBlob}`);
  if (omitted > 0) keepForRecall(draft, full);
  const said = `\`${command?.text ?? ""}\` failed with exit code ${exitCode} after your edits. Fix the reported problems; the command will run again.`;
  appendNote(draft, threadId, `${said}\n\n${text}`, "verify");
  startRepair(draft, threadId);
};
