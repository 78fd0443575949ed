import type { FallbackChain } from "../../model/retry.ts";
import type { Call } from "./call.ts";
import type { Run } from "./run.ts";
import type { VerificationWork } from "./verification.ts";
import type { AskWait, RetryWait } from "./wait.ts";
import type { Purpose } from "../../model/completer.ts";
import type { BudgetReservation } from "./budget.ts";

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
