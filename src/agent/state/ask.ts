import type { Json } from "../../chat/message.ts";
import type { AuthorizationSpec, QuestionSpec } from "../../tools/define-tool.ts";
import type { RaiseQuestion } from "./budget.ts";
import type { Approval } from "./call.ts";

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
