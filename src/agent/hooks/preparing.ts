import type { Json, Message } from "../../chat/message.ts";
import { cancelAsk, openAsk } from "../asks/asks.ts";
import { pauseStep } from "../calls/model-call.ts";
import type { BoundEffect, EffectResult } from "../definition/effect.ts";
import type { AskSubject } from "../state/ask.ts";
import type {
  EffectMemo,
  ForceReason,
  PreparedWork,
  PreparingPhase,
  AfterVerification,
  CheckCommand,
  Verification,
  VerificationWork,
} from "../state/phase.ts";
import type { Run } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import { openAskOf } from "../state/ask.ts";
import type { ThreadDraft } from "../transaction/draft.ts";
import { agentOf, runOf, emit } from "../transaction/draft.ts";
import { applyEffectResult } from "./effects.ts";
import { stopExecs } from "../calls/background-commands.ts";
import { isVerificationOpen } from "../state/phase.ts";
import { isSteeredByPerson } from "../state/thread.ts";

/** Leaves a question of an effect unanswered: its default applies, and the effect goes on. */
export const skipQuestion = (draft: ThreadDraft): void => {
  const wait = openAskOf(preparingPhaseOf(draft.thread.run)?.wait ?? null);
  if (wait === null) return;
  cancelAsk(draft, wait.ask);
  pauseStep(draft, { ...wait, until: draft.context.now });
};

/** Returns the phase of a run that is preparing; null if it is not. */
export const preparingPhaseOf = (run: Run | null): PreparingPhase | null =>
  run?.phase.at === "preparing" ? run.phase : null;

const changePreparing = (draft: ThreadDraft, fields: Partial<PreparingPhase>): void => {
  const phase = preparingPhaseOf(runOf(draft));
  if (phase !== null) runOf(draft).phase = { ...phase, ...fields };
};

/** Starts work outside the commit; the model attempt that follows it has the number `attempt`. */
export const startPreparing = (draft: ThreadDraft, work: PreparedWork, attempt = 1): void => {
  const { epoch, now } = draft.context;
  runOf(draft).phase = {
    at: "preparing",
    work,
    attempt,
    epoch,
    round: 1,
    startedAt: now,
    wait: null,
    call: null,
    ticket: null,
    memo: {},
    stop: null,
  };
};

/** Returns whether the state still holds this start of the work: each start has a `work` of its own. */
export const isPreparing = (
  session: Session,
  threadId: string,
  { work, round }: Pick<PreparingPhase, "work" | "round">,
): boolean => {
  const phase = preparingPhaseOf(session.threads[threadId]?.run ?? null);
  return phase?.work === work && phase.round === round && phase.wait === null;
};

/** Returns what forced the compaction of this work; null for other work. */
export const forceOf = (work: PreparedWork): ForceReason | null =>
  work.kind === "compaction" ? work.force : null;

/** Number of forced compactions in one turn; the last is a hard clear. */
export const mostOverflows = 4;

/** Starts the strategy, since the request was refused as too long for the `count`-th time in its turn. */
export const startOverflowCompaction = (draft: ThreadDraft, count: number, attempt: number): void => {
  runOf(draft).overflows = count;
  startPreparing(draft, { kind: "compaction", force: { why: "overflow", count } }, attempt);
};

/** Compacts the chat after a request that was too long, to ask again; false if that was tried often enough. */
export const compactOverflow = (draft: ThreadDraft, attempt: number): boolean => {
  const { overflows, cancel } = runOf(draft);
  const count = overflows + 1;
  if (count > mostOverflows || cancel !== null || agentOf(draft).effects.compaction === null) return false;
  startOverflowCompaction(draft, count, attempt);
  return true;
};

/** Runs the work again from the start after its wait; answers to what it asked before are stored. */
export const resumePreparing = (draft: ThreadDraft): void => {
  const phase = preparingPhaseOf(runOf(draft));
  if (phase === null) return;
  const { epoch, now } = draft.context;
  // The time in which a person was asked does not count.
  const startedAt = phase.wait?.on === "ask" ? now : phase.startedAt;
  changePreparing(draft, { epoch, startedAt, wait: null, round: phase.round + 1 });
};

/** Keeps the reply to a call or question of the effect, or the number of its tries so far. */
export const keepMemo = (draft: ThreadDraft, key: string, value: EffectMemo): void => {
  const phase = preparingPhaseOf(runOf(draft));
  if (phase === null) return;
  changePreparing(draft, { memo: { ...phase.memo, [key]: value }, call: null });
  runOf(draft).counters.deadAttempts = 0;
};

/** Asks a person and lets the work wait; the fallback is kept until there is an answer. */
export const pauseForAnswer = (
  draft: ThreadDraft,
  {
    key,
    fallback,
    timeoutMs,
  }: { readonly key: string; readonly fallback: string; readonly timeoutMs: number },
  subject: AskSubject,
): void => {
  const { id: ask } = openAsk(draft, "", timeoutMs, subject);
  keepMemo(draft, key, fallback);
  pauseStep(draft, { on: "ask", ask, key, until: null });
};

/** Starts an effect that has to be awaited. A stop of an earlier one ends the run only when the phase is done. */
export const prepareEffect = (draft: ThreadDraft, index: number): void => {
  const run = runOf(draft);
  startPreparing(draft, { kind: "effect", index });
  changePreparing(draft, { stop: run.stop });
  run.stop = null;
};

/** Applies the result of an effect after an earlier effect's stop; returns false if the run ends at once. */
export const applyPreparedResult = (
  draft: ThreadDraft,
  bound: BoundEffect,
  {
    phase: { work, stop: held },
    view,
  }: { readonly phase: PreparingPhase; readonly view: readonly Message[] },
  result: EffectResult<Json>,
): boolean => {
  const run = runOf(draft);
  const force = forceOf(work);
  const { stop: others } = run;
  run.stop ??= held;
  applyEffectResult(draft, bound, { phase: "before_complete", view, force }, result);
  const { cancel, stop, turnSince } = run;
  const ends = force === null ? others : stop;
  return cancel === null && ends === null && (force?.why !== "api" || turnSince !== null);
};

/** Fails the run: its request is too long, and compaction found nothing to leave out. */
export const failContextOverflow = (draft: ThreadDraft): void => {
  const error = "the history does not fit the model's context window, and nothing more can be left out";
  const run = runOf(draft);
  run.phase = { at: "ready" };
  run.stop = { reason: "context_length_exceeded", error };
};

/** Lets a command check the workspace before a run goes on or ends. */

/** Returns the check with which the run is preparing; null if there is none. */
export const verificationWorkOf = (run: Run | null): VerificationWork | null => {
  const work = preparingPhaseOf(run)?.work;
  return work?.kind === "verification" ? work : null;
};

/** Returns the fields of a check for its events. */
export const describeCheck = (
  { what, command }: VerificationWork,
  verification: Verification | null,
): { readonly breach?: true; readonly attempt: number; readonly command: string } => ({
  ...(what === "breach" ? { breach: true } : {}),
  attempt: verification?.of === "edits" ? verification.repairs + 1 : 1,
  command: command?.text ?? "",
});

/** Returns whether the run has edits that are checked before it goes on. */
const hasEditsToCheck = (draft: ThreadDraft): boolean => {
  const { cancel, stop, verification, turnWork } = runOf(draft);
  if (cancel !== null || stop !== null || verification?.of === "nothing") return false;
  return turnWork.edited && agentOf(draft).verification?.afterEdit === true;
};

/**
 * If a turn that is about to close has edits to check, lets what follows wait for the check and returns true.
 * A person who steers comes first: the edits are checked when the next turn closes.
 */
export const deferToVerification = (draft: ThreadDraft, next: AfterVerification): boolean => {
  if (!hasEditsToCheck(draft)) return false;
  const run = runOf(draft);
  const steered = isSteeredByPerson(draft.thread);
  const repairs = run.verification?.of === "edits" ? run.verification.repairs : 0;
  run.verification = steered ? null : { of: "edits", repairs, next };
  return !steered;
};

/** Begins the check: its command is found and started outside the commit. */
export const startVerification = (draft: ThreadDraft, broad = false): void => {
  const { verification } = runOf(draft);
  const first = verification?.of === "breach" ? "breach" : "edits";
  startPreparing(draft, { kind: "verification", what: broad ? "broad" : first, command: null });
};

/** Records that the command is about to start; after a crash it is found again by what is stored here. */
export const startCheckCommand = (draft: ThreadDraft, command: CheckCommand): void => {
  const run = runOf(draft);
  const phase = preparingPhaseOf(run);
  const work = verificationWorkOf(run);
  if (phase === null || work === null) return;
  const started = { ...work, command };
  run.phase = { ...phase, work: started };
  emit(draft, "verify", { state: "started", ...describeCheck(started, run.verification) });
};

/**
 * Skips the check, since the run is cancelled, steered or ended, and ends a command under way. The edits of a
 * run that goes on stay unchecked until its next turn closes.
 */
export const skipVerification = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  if (!isVerificationOpen(run)) return;
  const work = verificationWorkOf(run);
  if (work !== null && work.command !== null) {
    emit(draft, "verify", { state: "skipped", ...describeCheck(work, run.verification) });
    stopExecs(draft, [work.command.exec]);
  }
  if (work !== null) run.phase = { at: "ready" };
  run.verification = null;
};
