import { stopExecs } from "../calls/background-commands.ts";
import type { AfterVerification, CheckCommand, Verification, VerificationWork } from "../state/phase.ts";
import { isVerificationOpen } from "../state/phase.ts";
import type { Run } from "../state/run.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, emit, runOf, threadOf } from "../transaction/draft.ts";
import { preparingPhaseOf, startPreparing } from "./preparing.ts";
import { isSteeredByPerson } from "../state/thread.ts";

/** Lets a command check the workspace before a run goes on or ends. */

/** Returns the check with which the run is preparing; null if there is none. */
export const verificationWorkOf = (run: Run | null): VerificationWork | null => {
  const work = preparingPhaseOf(run)?.work;
  return work?.kind === "verification" ? work : null;
};

/** Returns the fields of a check for its events. */
export const describeCheck = (
  { what, command }: VerificationWork,
  verification: Verification | null = null,
): { readonly breach?: true; readonly attempt: number; readonly command: string } => ({
  ...(what === "breach" ? { breach: true } : {}),
  attempt: verification?.of === "edits" ? verification.repairs + 1 : 1,
  command: command?.text ?? "",
});

/** Returns whether the run has edits that are checked before it goes on. */
const hasEditsToCheck = (draft: Draft, threadId: string): boolean => {
  const { cancel, stop, verification, turnWork } = runOf(draft, threadId);
  if (cancel !== null || stop !== null || verification?.of === "nothing") return false;
  return turnWork.edited && agentOf(draft, threadId).verification?.afterEdit === true;
};

/**
 * If a turn that is about to close has edits to check, lets what follows wait for the check and returns true.
 * A person who steers comes first: the edits are checked when the next turn closes.
 */
export const deferToVerification = (draft: Draft, threadId: string, next: AfterVerification): boolean => {
  if (!hasEditsToCheck(draft, threadId)) return false;
  const run = runOf(draft, threadId);
  const steered = isSteeredByPerson(threadOf(draft, threadId));
  const repairs = run.verification?.of === "edits" ? run.verification.repairs : 0;
  run.verification = steered ? null : { of: "edits", repairs, next };
  return !steered;
};

/** Begins the check: its command is found and started outside the commit. */
export const startVerification = (draft: Draft, threadId: string, broad = false): void => {
  const { verification } = runOf(draft, threadId);
  const first = verification?.of === "breach" ? "breach" : "edits";
  startPreparing(draft, threadId, { kind: "verification", what: broad ? "broad" : first, command: null });
};

/** Records that the command is about to start; after a crash it is found again by what is stored here. */
export const startCheckCommand = (draft: Draft, threadId: string, command: CheckCommand): void => {
  const run = runOf(draft, threadId);
  const phase = preparingPhaseOf(run);
  const work = verificationWorkOf(run);
  if (phase === null || work === null) return;
  const started = { ...work, command };
  run.phase = { ...phase, work: started };
  emit(draft, threadId, "verify", { state: "started", ...describeCheck(started, run.verification) });
};

/**
 * Skips the check, since the run is cancelled, steered or ended, and ends a command under way. The edits of a
 * run that goes on stay unchecked until its next turn closes.
 */
export const skipVerification = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  if (!isVerificationOpen(run)) return;
  const work = verificationWorkOf(run);
  if (work !== null && work.command !== null) {
    emit(draft, threadId, "verify", { state: "skipped", ...describeCheck(work, run.verification) });
    stopExecs(draft, [work.command.exec]);
  }
  if (work !== null) run.phase = { at: "ready" };
  run.verification = null;
};
