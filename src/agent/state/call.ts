import type { Json, ToolCallPart, ToolResultPart } from "../../chat/message.ts";
import type { ClosedPath } from "../../sandbox/contract.ts";
import type { Safety, WorkspaceUse } from "../../tools/define-tool.ts";
import type { CallRecord } from "./records.ts";
import type { CallWait } from "./ask.ts";

/** Describes a tool call of a reply, from its plan to its outcome. */

type CallStatus = "planned" | "running" | "parked" | "done";

/** Calls that an approval may allow from then on. */
interface Remembered {
  readonly tool: string;
  readonly pattern: string;
}

/** What an ask for approval shows about its call. */
export interface Approval {
  readonly tool: string;
  readonly input: Json;
  /** Folder of the workspace to which paths of the input are relative, if it is not the workspace itself. */
  readonly directory?: string;
  readonly rule: string;
  /** The reason for the rule, where the team's file gives one. */
  readonly reason?: string;
  /** What happens if nobody answers; absent: the call is denied. */
  readonly on_timeout?: "approve";
  /** `remember` in an answer allows this from then on; if absent, `remember` has no effect. */
  readonly remember?: Remembered;
}

/** Decision about a call, stored with the reply so that `next` needs no tool. */
export interface CallPlan {
  readonly toolbox: string;
  readonly safety: Safety;
  readonly workspace: WorkspaceUse;
  readonly terminal: boolean;
  readonly verdict: "allow" | "ask" | "deny";
  readonly by: string;
  /** The reason for the deciding rule, in its author's words. */
  readonly reason?: string;
  /** If present, this error is the result and the tool is not run. */
  readonly refusal?: {
    readonly status: "error" | "denied";
    readonly text: string;
    /** What is wrong with the arguments, for a person who changed them. */
    readonly problem?: string;
  };
  /** `remember` on the approval would allow this from then on; null if nothing can be offered. */
  readonly remember: Remembered | null;
  /** Paths that the call may not touch beside those that it names; if present, no link is followed. */
  readonly closed?: readonly ClosedPath[];
  /** Whether the tool is a client tool: its call is parked for the caller. */
  readonly client?: boolean;
  /** Whether the session itself does what the call asks, without a tool. */
  readonly session?: boolean;
  /** Whether the result is foreign content, such as a web page. */
  readonly foreign?: boolean;
  /** Whether a guard refused the reply, so that the call is no part of the history. */
  readonly vetoed?: boolean;
}

/** Values of a planned call that has not begun. Rows leave them out, and reading puts them in. */
export const freshCall = {
  status: "planned",
  attempts: 0,
  reruns: 0,
  epoch: 0,
  startedAt: null,
  wait: null,
  edited: null,
  moved: null,
  approved: false,
  memo: null,
  resumes: false,
  record: null,
  note: null,
  outcome: null,
} satisfies Partial<Call>;

export interface Call {
  readonly call: ToolCallPart;
  readonly plan: CallPlan;
  readonly status: CallStatus;
  /** Number of starts; more than one after a rerun or a wait. */
  readonly attempts: number;
  /** Number of starts that a crash made necessary. */
  readonly reruns: number;
  readonly epoch: number;
  readonly startedAt: number | null;
  /** What the call waits for while it is parked; a call that was woken keeps it until it starts. */
  readonly wait: CallWait | null;
  /** The arguments as an approver changed them, as raw JSON. */
  readonly edited: string | null;
  /** The arguments that its tool went on with, as raw JSON: they replace all before them. */
  readonly moved: string | null;
  /** Whether a person approved the call: the verdict for it and these arguments is final. */
  readonly approved: boolean;
  /** Small durable memory of the call, such as the sandbox instance it started on. */
  readonly memo: Json;
  /** Is true if it asked a person and runs again with the answer. */
  readonly resumes: boolean;
  /** Number and digest of the arguments for its record; null where no history is kept. */
  readonly record: Pick<CallRecord, "n" | "args" | "poll"> | null;
  /** Text that guards add to the end of the result. */
  readonly note: string | null;
  readonly outcome: CallCompletion | null;
}

/** Returns the arguments that a call runs with, as raw JSON. */
export const argsOf = ({ call, edited, moved }: Pick<Call, "call" | "edited" | "moved">): string =>
  moved ?? edited ?? call.args;

/** The rule about a call that a crash interrupted and whose repetition a person has to allow. */
export const interruptRule = "on_interrupt";

/** Returns whether a started call runs again by itself, after a pause, a command or a task. */
export const willRunAgain = ({ status, attempts, wait }: Call): boolean =>
  attempts > 0 &&
  (status === "planned" || (status === "parked" && wait?.on !== "ask" && wait?.on !== "thread"));

/** Returns whether a call reports the end of a called agent's task: nothing but the session takes it. */
export const isReport = ({ call, plan }: Pick<Call, "call" | "plan">): boolean =>
  call.name === "task_complete" && plan.session === true && plan.verdict === "allow";

export interface CallCompletion {
  readonly result: ToolResultPart;
  readonly durationMs: number;
  readonly cached: boolean;
  /** If true, the cache was asked and had no entry. */
  readonly missed?: boolean;
}

/** Returns a tool's name in the form that records hold, whatever the model wrote. */
export const sanitizeToolName = (name: string): string => name.replace(/[^\w.:/-]/g, "_").slice(0, 128);
