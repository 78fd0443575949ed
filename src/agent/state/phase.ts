import type { FallbackChain } from "../../model/retry.ts";
import type { Call } from "./call.ts";
import type { Run } from "./run.ts";
import type { AskWait, RetryWait } from "./ask.ts";
import type { Purpose } from "../../model/completer.ts";
import type { BudgetReservation } from "./budget.ts";
import type { Message } from "../../chat/message.ts";

/** Reply to an effect; if not `ok`, three tries failed. A budget that is too small gives none. */
export type EffectReply =
  | { readonly ok: true; readonly text: string; readonly attempts: number }
  | { readonly ok: false; readonly error: string; readonly attempts: number };

/** Why an effect is forced: the provider refused the request as too long, or the API asked for it. */
export type ForceReason =
  | { readonly why: "overflow"; readonly count: number }
  | { readonly why: "api"; readonly instructions: string | null };

/** Outcome of an effect's call or question; a number counts the tries so far. */
export type EffectMemo = EffectReply | string | number;

/** Work outside the commit that a run waits for; `index` is a position among the agent's before-effects. */
export type PreparedWork =
  | { readonly kind: "effect"; readonly index: number }
  | { readonly kind: "compaction"; readonly force: ForceReason }
  | { readonly kind: "briefing" }
  | VerificationWork;

export interface PreparingPhase {
  readonly at: "preparing";
  readonly work: PreparedWork;
  /** Number of the next model attempt. */
  readonly attempt: number;
  readonly epoch: number;
  /** Number of starts so far. */
  readonly round: number;
  readonly startedAt: number;
  /** Null while the effect works. */
  readonly wait: RetryWait | AskWait | null;
  /** Model call that the work is making. */
  readonly call: ModelCall | null;
  /** Ticket that the model call waits for; null if it waits for none. */
  readonly ticket: Ticket | null;
  /** Replies and answers by the digest of what was asked, so nothing is asked twice. */
  readonly memo: Readonly<Record<string, EffectMemo>>;
  /** Stop of an earlier effect of the phase, which ends the run once the phase is done. */
  readonly stop: Run["stop"];
}

export type Phase =
  | { readonly at: "ready" }
  | {
      readonly at: "thinking";
      readonly epoch: number;
      readonly chain: FallbackChain;
      readonly call: ModelCall;
      readonly items: readonly string[];
      /** The newest edit of the session and the model override of the thread when it began. */
      readonly from: { readonly edit: number; readonly override: string | null };
    }
  | {
      readonly at: "waiting";
      readonly attempt: number;
      readonly wait: RetryWait;
      readonly chain: FallbackChain;
      /** Ticket that the attempt waits for; null if it waits for none. */
      readonly ticket: Ticket | null;
    }
  | { readonly at: "acting"; readonly calls: readonly Call[] }
  /** An effect, a compaction, the briefing or a check needs a model, a person or another system. */
  | PreparingPhase;

/** Position of a model call at its provider's gate. */
export interface Ticket {
  readonly provider: string;
  readonly id: string;
  /** Whether the gate has granted the ticket and need not be asked again. */
  readonly booked: boolean;
}

/** Returns the id of a call for its provider's gate. */
export const ticketId = (session: string, thread: string, call: string): string =>
  `${session}:${thread}:${call}`;

/** Model call, stored from the intent to make it until its outcome, whatever makes it. */
export interface ModelCall {
  readonly purpose: Purpose;
  readonly target: { readonly provider: string; readonly model: string };
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Estimated tokens of the request. */
  readonly input: number;
  /** What is reserved in every account that pays for the call. */
  readonly reservation: BudgetReservation;
  readonly ticket: Ticket;
  readonly startedAt: number;
}

/** Returns the model call that a run is making; null if it makes none. */
export const modelCallOf = (run: Run | null): ModelCall | null =>
  run?.phase.at === "thinking" || run?.phase.at === "preparing" ? run.phase.call : null;

/** Returns the ticket that the run's model attempt or prepared work waits for; null if it waits for none. */
export const awaitedTicketOf = (run: Run | null): Ticket | null =>
  run?.phase.at === "waiting" || run?.phase.at === "preparing" ? run.phase.ticket : null;

/** Names an attempt within its session; a repair turn is not counted, so its number is separate. */
export const attemptId = ({ id, turn, repair, counters }: Run, attempt: number): string =>
  `${id}.${turn}${repair ? `r${counters.repairs}` : ""}.${attempt}`;

/** Check of the workspace by the operator's command: after edits, and before a run ends that used up its turns. */

/** What follows a check of edits: another turn, or the end that the check holds up. */
export type AfterVerification = "turn" | "end_turn" | "terminal_tool";

export type Verification =
  | {
      readonly of: "edits";
      /** Number of repair turns that followed the edits. */
      readonly repairs: number;
      /** Null while the model repairs. */
      readonly next: AfterVerification | null;
    }
  /** The run used up its turns; `outcome` is null until the check has ended. */
  | { readonly of: "breach"; readonly outcome: "passed" | "failed" | null }
  /** The command could not be run, so edits of this run are not checked any more. */
  | { readonly of: "nothing" };

/** Command that is known and about to start, or runs already. */
export interface CheckCommand {
  readonly text: string;
  /** Id under which the sandbox starts the command at most once. */
  readonly exec: string;
  /** Sandbox instance whose memory knows the command if it has arrived. */
  readonly instance: string;
}

/** Work of a check: the first command checks edits or a breach; the broad one follows a first that passed. */
export interface VerificationWork {
  readonly kind: "verification";
  readonly what: "edits" | "broad" | "breach";
  /** Null until the command is about to start. */
  readonly command: CheckCommand | null;
}

type Checked = { readonly verification: Verification | null };

/** Returns whether the run, which used up its turns, has yet to be checked before it ends. */
export const isBreachOpen = ({ verification }: Checked): boolean =>
  verification?.of === "breach" && verification.outcome === null;

/** Returns whether a check has to begin or to end before anything else follows. */
export const isVerificationOpen = (run: Checked): boolean =>
  isBreachOpen(run) || (run.verification?.of === "edits" && run.verification.next !== null);

/** Returns whether the model is repairing what a check found. */
export const isRepairing = ({ verification }: Checked): boolean =>
  verification?.of === "edits" && verification.next === null;

/** Plan of a run, which it may ask its model for before its first turn, and which a person may have to approve. */
export interface RunPlan {
  readonly stage:
    /** The model is asked for a plan next. */
    | { readonly at: "due" }
    /** The run waits for the answer to this ask. */
    | { readonly at: "asked"; readonly ask: string }
    /** Another plan follows once the model knows why this one was denied. */
    | { readonly at: "denied"; readonly message: string }
    /** The model is told to carry out the plan, or the text that a person put in its place. */
    | { readonly at: "approved"; readonly text: string | null }
    | { readonly at: "done" };
  /** Number of attempts at plans, over all requests, so that each attempt has its own name. */
  readonly attempts: number;
  /** Number of empty or cut plans that were dropped. */
  readonly discarded: number;
  readonly denied: number;
}

export const newPlan: RunPlan = { stage: { at: "due" }, attempts: 0, discarded: 0, denied: 0 };

/** Returns whether the next model call of a run with this plan is for one. */
export const isPlanning = (plan: RunPlan | null): boolean => plan !== null && plan.stage.at !== "done";

/** Returns whether the run has asked its model for a plan. */
export const hasPlanned = (run: Run | null): boolean => (run?.plan?.attempts ?? 0) > 0;

/** Returns the ask about its plan that the run waits for; null if it waits for none. */
export const planAskOf = ({ plan }: Pick<Run, "plan">): string | null =>
  plan?.stage.at === "asked" ? plan.stage.ask : null;

/** Returns the message without its pin, as one that no run follows as its plan. */
export const unpinPlanMessage = (message: Message): Message =>
  message.marks?.includes("plan") === true
    ? { ...message, marks: message.marks.filter((mark) => mark !== "plan") }
    : message;
