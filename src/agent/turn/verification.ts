import { guardAnswer } from "../hooks/middleware.ts";
import { startVerification, describeCheck, verificationWorkOf } from "../hooks/preparing.ts";
import type { Run } from "../state/run.ts";
import type { AfterVerification, VerificationWork } from "../state/phase.ts";
import { lastCharacters } from "../../chat/text.ts";
import { limitOutput } from "../../tools/output.ts";
import type { ThreadDraft } from "../transaction/draft.ts";
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

const report = (draft: ThreadDraft, work: VerificationWork, outcome: CheckOutcome): void => {
  const about = describeCheck(work, runOf(draft).verification);
  if (outcome.is === "no_command") {
    emit(draft, "verify", { state: "skipped", ...about });
    return;
  }
  const { is: state, exitCode, output } = outcome;
  const code = exitCode === undefined ? {} : { exit_code: exitCode };
  emit(draft, "verify", {
    state,
    ...about,
    ...code,
    output_tail: lastCharacters(output, longestTail),
  });
};

/** Stores the outcome of an ended check together with what follows from it. */
export const applyVerification = (draft: ThreadDraft, outcome: CheckOutcome): void => {
  const run = runOf(draft);
  const work = verificationWorkOf(run);
  if (work === null) return;
  report(draft, work, outcome);
  run.phase = { at: "ready" };
  run.counters.deadAttempts = 0;
  if (work.what === "breach") endBreachedRun(draft, outcome.is === "passed");
  else followEdits(draft, work, outcome);
};

/** Completes a run that used up its turns if its work passes; otherwise the run failed. */
const endBreachedRun = (draft: ThreadDraft, passed: boolean): void => {
  const run = runOf(draft);
  run.verification = { of: "breach", outcome: passed ? "passed" : "failed" };
  const reason = "max_iterations";
  run.ending = passed
    ? (guardLastText(draft) ?? { state: "completed", reason, error: null })
    : { state: "failed", reason, error: run.stop?.error ?? null };
};

/** Withholds a refused text, since no turn is left to repair it; only a hook that threw fails the run. */
const guardLastText = (draft: ThreadDraft): Run["ending"] => {
  const fits = findOutputProblems(draft).length === 0;
  const end = guardAnswer(draft, "terminal_tool");
  if (!fits || end.do === "retry") runOf(draft).counters.withheld = true;
  if (end.do !== "fail" || end.reason !== "effect_failed") return null;
  return { state: "failed", reason: end.reason, error: end.error };
};

const followEdits = (draft: ThreadDraft, work: VerificationWork, outcome: CheckOutcome): void => {
  const run = runOf(draft);
  const { verification } = run;
  if (verification?.of !== "edits") return;
  const { broad, retries } = agentOf(draft).verification ?? { broad: "", retries: 0 };
  const { repairs } = verification;
  if (outcome.is === "passed" && work.what === "edits" && broad !== "") startVerification(draft, true);
  else if (outcome.is === "failed" && repairs < retries) {
    startCheckRepair(draft, work, outcome);
    run.verification = { ...verification, repairs: repairs + 1, next: null };
  } else {
    if (outcome.is === "failed")
      emit(draft, "verify", { state: "exhausted", ...describeCheck(work, verification) });
    run.verification = outcome.is === "error" ? { of: "nothing" } : null;
    run.turnWork = { ...run.turnWork, edited: false };
    goOn(draft, verification.next);
  }
};

/** Goes on with the end that the check held up, unless another turn follows. */
const goOn = (draft: ThreadDraft, next: AfterVerification | null): void => {
  if (next === "end_turn" || next === "terminal_tool") concludeRun(draft, next);
};

/** Lets the model read what the command said and repair it in a repair turn. */
const startCheckRepair = (
  draft: ThreadDraft,
  { command }: VerificationWork,
  { exitCode, output }: { readonly exitCode: number; readonly output: string },
): void => {
  const { text, omitted, full } = limitOutput(output, longestOutput, `b${draft.state.nextBlob}`);
  if (omitted > 0) keepForRecall(draft, full);
  const said = `\`${command?.text ?? ""}\` failed with exit code ${exitCode} after your edits. Fix the reported problems; the command will run again.`;
  appendNote(draft, `${said}\n\n${text}`, "verify");
  startRepair(draft);
};
