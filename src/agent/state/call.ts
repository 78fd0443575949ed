import type { Json, ToolCallPart, ToolResultPart } from "../../chat/message.ts";
import type { ClosedPath } from "../../sandbox/contract.ts";
import type { Safety, WorkspaceUse } from "../../tools/define-tool.ts";
import type { ChildWait } from "./child.ts";
import type { CallRecord } from "./records.ts";

/** A tool call of a reply, from the plan to its outcome. */

type CallStatus = "planned" | "running" | "parked" | "done";

/** Calls that an approval may allow from then on. */
interface Remembered {
  readonly tool: string;
  readonly pattern: string;
}

/** What an ask for a person's approval says of its call. */
export interface Approval {
  readonly tool: string;
  readonly input: Json;
  readonly rule: string;
  /** Why the rule asks, where the team's file says so. */
  readonly reason?: string;
  /** What `remember` in an answer allows from then on; absent: nothing, whatever the answer says. */
  readonly remember?: Remembered;
}

/** What dispatch decided about a call when its reply was stored; `next` needs no tool to be at hand. */
export interface CallPlan {
  readonly toolbox: string;
  readonly safety: Safety;
  readonly workspace: WorkspaceUse;
  readonly terminal: boolean;
  readonly verdict: "allow" | "ask" | "deny";
  readonly by: string;
  /** Why the deciding rule is there, in its author's words. */
  readonly reason?: string;
  /** An error that is the result, without the tool being run. */
  readonly refusal?: { readonly status: "error" | "denied"; readonly text: string };
  /** What a `remember` on the approval would allow from then on; null if nothing can be offered. */
  readonly remember: Remembered | null;
  /** Paths that it may not touch beside those that it names; with them, no link is followed. */
  readonly closed?: readonly ClosedPath[];
  /** A client tool: its call is parked for the caller. */
  readonly client?: boolean;
  /** The session itself does what the call asks: no tool is run. */
  readonly session?: boolean;
  /** A guard refused the reply: the call is no part of the history. */
  readonly vetoed?: boolean;
}

export interface Call {
  readonly call: ToolCallPart;
  readonly plan: CallPlan;
  readonly status: CallStatus;
  /** Starts so far; > 1 after a rerun or a wait. */
  readonly attempts: number;
  /** Starts that a crash made necessary. */
  readonly reruns: number;
  readonly epoch: number;
  readonly startedAt: number | null;
  /** Parked: when the default applies or the call runs again. */
  readonly until: number | null;
  readonly parkedOn: "ask" | "time" | "exec" | "task" | "thread" | null;
  /** Children that it waits for. */
  readonly waits?: ChildWait;
  /** Task that it waits for. */
  readonly watches?: string;
  readonly ask: string | null;
  /** Arguments as an approver changed them (raw JSON). */
  readonly edited: string | null;
  /** Approved: the verdict for this call and these arguments is final. */
  readonly approved: boolean;
  /** Small durable memory of the call (the sandbox instance it started on). */
  readonly memo: Json;
  /** What its record will say of it: its number, a digest of the arguments as the model wrote them; absent where no history is kept. */
  readonly record?: Pick<CallRecord, "n" | "args" | "poll">;
  /** What guards add to the end of the result. */
  readonly note?: string;
  readonly outcome: CallCompletion | null;
}

/** Whether a call that was begun runs again by itself: parked for a while, for a command or a task, or woken from that. */
export const willRunAgain = ({ status, attempts, parkedOn }: Call): boolean =>
  attempts > 0 &&
  (status === "planned" || (status === "parked" && parkedOn !== "ask" && parkedOn !== "thread"));

export interface CallCompletion {
  readonly result: ToolResultPart;
  readonly durationMs: number;
  readonly cached: boolean;
  /** The cache was asked and had nothing. */
  readonly missed?: boolean;
}

/** A tool's name as records have it, whatever the model made of it. */
export const sanitizeToolName = (name: string): string => name.replace(/[^\w.:/-]/g, "_").slice(0, 128);
