import type { Json } from "../../chat/message.ts";
import type { AuthorizationSpec, QuestionSpec } from "../../tools/define-tool.ts";
import type { RaiseQuestion } from "./budget.ts";
import type { Approval } from "./call.ts";
import type { ChildWait } from "./child.ts";

export type CallOutcome = "ok" | "error" | "denied" | "cancelled" | "skipped" | "unknown";

export const askKinds = ["question", "approval", "client_tool", "authorization", "budget"] as const;

type AskKind = (typeof askKinds)[number];

export type AskDecision = "approve" | "deny" | "edit" | "answer" | "result" | "cancel";

/** Question to a person as the API shows it. Times are milliseconds since the epoch. */
export interface Ask {
  readonly id: string;
  readonly kind: AskKind;
  readonly thread: string;
  /** Called agent that asks. */
  readonly agent?: string;
  readonly label?: string;
  readonly run: string;
  readonly call: string;
  readonly status: "open" | "resolved" | "expired" | "cancelled";
  readonly opened_at: number;
  /** Number of the `ask_user` event, by which asks are ordered. */
  readonly seq: number;
  readonly expires_at: number;
  readonly question?: QuestionSpec;
  readonly approval?: Approval;
  /** Address that a person opens to sign in; the server then goes on. */
  readonly authorization?: AuthorizationSpec;
  readonly client_tool?: { readonly tool: string; readonly input: Json };
  readonly budget?: RaiseQuestion;
  readonly resolution?: {
    readonly decision: AskDecision | "expired";
    readonly by: string;
    /** Calls like the approved one run without asking from then on: in this session, or wherever the agent works; absent: this call only. */
    readonly remember?: "session" | "agent";
    readonly body?: Json;
  };
}

/** What an ask is about: the field that its kind names. */
export type AskSubject = { readonly [K in AskKind]: Required<Pick<Ask, K>> }[AskKind];

export interface WaitReason {
  readonly kind: "ask" | "thread" | "exec" | "task" | "time" | "retry" | "budget" | "config";
  readonly ask?: string;
  readonly until?: number;
  /** What the deployment lacks, for `config`. */
  readonly missing?: string;
}

/** Wait until an attempt is made again, or a budget that calls under way have reserved is checked again. */
export interface RetryWait {
  readonly on: "retry" | "budget";
  readonly until: number;
}

/** Wait for a person's answer, which is stored under `key`; `until` is null while the ask is open. */
export interface AskWait {
  readonly on: "ask";
  readonly ask: string;
  readonly key?: string;
  readonly until: number | null;
}

/** What a call, an attempt, an effect or an announcement waits for; `until` is null if only others end the wait. */
export type Wait =
  | RetryWait
  | AskWait
  | { readonly on: "time" | "exec"; readonly until: number }
  | { readonly on: "task"; readonly task: string; readonly until: number }
  /** A wait for children, or, if null, for an answer of its caller. */
  | { readonly on: "thread"; readonly children: ChildWait | null; readonly until: number | null };

export const isDue = (wait: Wait | null, now: number): boolean => wait?.until != null && wait.until <= now;

/** Returns the wait for an ask that is still open; null if it is answered, or the wait is for something else. */
export const openAskOf = (wait: Wait | null): AskWait | null =>
  wait?.on === "ask" && wait.until === null ? wait : null;

export const childrenOf = (wait: Wait | null): ChildWait | null =>
  wait?.on === "thread" ? wait.children : null;

export const isForCaller = (wait: Wait | null): boolean => wait?.on === "thread" && wait.children === null;

export type CallWait = Exclude<Wait, RetryWait>;

/** Returns the milliseconds before something is tried again that failed so often: each pause is twice the one before. */
export const pauseAfter = (failures: number, first: number, most = Number.POSITIVE_INFINITY): number =>
  Math.min(most, first * 2 ** failures);

/** Work beside the runs that is tried again until it succeeds or is given up. */
export interface Retry {
  /** Number of tries that failed. */
  readonly tries: number;
  /** When the next try may begin, in milliseconds since the epoch. */
  readonly until: number;
}

/** Number of tries of a sandbox that does not answer, over a quarter of an hour, after which work is given up. */
export const mostSandboxTries = 10;

/** Returns work that failed once more; its next try begins after a pause in milliseconds. */
export const postpone = <T extends Retry>(work: T, now: number, first = 1_000, most?: number): T => ({
  ...work,
  tries: work.tries + 1,
  until: now + pauseAfter(work.tries, first, most),
});

export const isTryDue = ({ until }: Retry, now: number): boolean => until <= now;
