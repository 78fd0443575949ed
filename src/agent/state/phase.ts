import type { FallbackChain } from "../../model/retry.ts";
import type { Call } from "./call.ts";
import type { ModelCall, Ticket } from "./model-call.ts";
import type { Run } from "./run.ts";
import type { VerificationWork } from "./verification.ts";
import type { AskWait, RetryWait } from "./wait.ts";

/**
 * Reply to an effect. If not `ok`, three tries failed. Where a budget is too small, the run asks for more or
 * ends without a reply.
 */
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
