import type { Json, Message } from "../chat/message.ts";
import type { Usage } from "../model/completer.ts";
import type { Lanes } from "../model/retry.ts";
import type { Call } from "./call.ts";
import type { Child } from "./child.ts";
import type { ClientTool } from "./client-tool.ts";
import type { Tasks } from "./board.ts";
import type { CallUnderWay, Funds, Hold, RunBudget, SessionBudget } from "./budget-types.ts";
import type { RunClock } from "./run-clock.ts";
import type { CallRecord, EffectReply, Force } from "./effect.ts";
import type { Ask, EndReason, RunState } from "./events.ts";
import type { Input } from "./input.ts";
import type { LeftCommands } from "./left-commands.ts";
import type { Outbox } from "./outbox.ts";
import type { GatePlace } from "./place.ts";
import type { Reply } from "./records.ts";
import type { Totals } from "./usage.ts";

export type { ClientTool } from "./client-tool.ts";
export type { Input } from "./input.ts";

/** The whole stored state of a session (SE-9, SE-11): plain readonly JSON, changed only by transitions. */

/** What came of a call or question of an effect; a number counts the tries so far. */
export type EffectMemo = EffectReply | string | number;

export interface Preparing {
  readonly at: "preparing";
  /** Position in the agent's before-effects; -1: its ladder, forced; -2: the run's briefing. */
  readonly effect: number;
  readonly force: Force | null;
  /** Number of the model attempt that follows. */
  readonly attempt: number;
  readonly epoch: number;
  /** Starts so far: names the work. */
  readonly round: number;
  readonly startedAt: number;
  /** Null while it is at work; else when it goes on. */
  readonly until: number | null;
  readonly why: "retry" | "ask" | "crash" | "gate" | "budget";
  /** Open question it waits for, and where its answer goes. */
  readonly ask: { readonly id: string; readonly key: string } | null;
  /** The model call under way, as far as the ledger needs it if it is lost. */
  readonly calling: CallUnderWay | null;
  /** What its model call waits for; absent or null: no call does. */
  readonly place?: GatePlace | null;
  /** Replies and answers by the digest of what was asked: what is here is never asked again. */
  readonly memo: Readonly<Record<string, EffectMemo>>;
  /** What an earlier effect of the phase ends the run with, once the phase is done (EF-7). */
  readonly stop?: NonNullable<Run["stop"]>;
}

export type Phase =
  | { readonly at: "ready" }
  | {
      readonly at: "thinking";
      readonly attempt: number;
      readonly epoch: number;
      readonly startedAt: number;
      readonly lanes: Lanes;
      readonly booked: boolean;
      readonly items: readonly string[];
      readonly hold: Hold;
      /** Newest edit of the session, and model override of the thread, when it began (EF-42). */
      readonly from: { readonly edit: number; readonly override: string | null };
    }
  | {
      readonly at: "waiting";
      readonly attempt: number;
      readonly until: number;
      readonly lanes: Lanes;
      readonly booked: boolean;
      readonly why: "retry" | "gate" | "crash" | "budget";
    }
  | { readonly at: "acting"; readonly calls: readonly Call[] }
  /** An effect is at work that needs a model or a person. */
  | Preparing;

export interface Counters {
  readonly toolCalls: number;
  /** 10⁻⁹ USD; null once a call had no price. */
  readonly cost: number | null;
  readonly estimated: boolean;
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly longestTurnMs: number;
  /** Replies in a row that were cut by length with calls, cut by length with text, or empty (SE-13). */
  readonly cutCalls: number;
  readonly cutText: number;
  readonly empty: number;
  /** Repair turns so far, whoever asked for them. */
  readonly repairs: number;
  /** Answers that did not fit the schema and were sent back. */
  readonly misfits: number;
  /** What it said last is no answer: a guardrail did not let it pass. */
  readonly withheld?: boolean;
  /** Answers that each guardrail sent back, by its place among them. */
  readonly rejected?: Readonly<Record<string, number>>;
  /** Attempts without committed content since the last (SE-33). */
  readonly deadAttempts: number;
  readonly toolRan: boolean;
  readonly truncated: boolean;
  /** Stages of compaction that shrank the view (EF-28). */
  readonly compactions?: number;
  /** `input_truncated_suspected` was said (MO-35). */
  readonly inputDoubted?: boolean;
  readonly timings: Readonly<Record<string, number>>;
  readonly files: Readonly<Record<"modified" | "created" | "deleted", readonly string[]>>;
}

/** What a run is told before its first turn: the workspace's project context, lessons of runs that failed, what is remembered. */
export type Want = "context" | "reflections" | "memory";

/** How a run ends: decided with what it followed from, carried out as the next step. */
export interface RunEnding {
  readonly state: RunState;
  readonly reason: EndReason;
  readonly error: string | null;
}

export interface Run {
  readonly id: string;
  readonly inputs: readonly string[];
  /** Message of the input that began it; absent: it took up what stood there. */
  readonly task?: string;
  readonly startedAt: number;
  /** From 1; 0 before the first. */
  readonly turn: number;
  readonly turnStartedAt: number;
  readonly turnOpen: boolean;
  /** An uncounted repair turn follows (SE-13, SE-14). */
  readonly repair: boolean;
  readonly phase: Phase;
  readonly deadline: number | null;
  /** Its active time, if that is bounded. */
  readonly clock: RunClock | null;
  readonly cancel: {
    readonly mode: "now" | "after_turn";
    /** When running calls are given up. */
    readonly until: number;
    readonly reason: "cancelled" | "interrupted" | "rolled_back";
    /** Inputs that go back to their sender at the run's end. */
    readonly returns: readonly string[];
  } | null;
  readonly stop: {
    readonly reason: EndReason;
    readonly error: string | null;
    /** It counts as one that used up its turns (EF-36). */
    readonly exhausted?: boolean;
  } | null;
  /** Set by whatever decides that it is over; null before. */
  readonly ending: RunEnding | null;
  /** It is over but for the background children that are still at work, and would end so (AG-30). */
  readonly lingers: "end_turn" | "terminal_tool" | null;
  /** It tells the person what an agent in the background came to (AG-31). */
  readonly announces: boolean;
  /** `run_waiting` was said and `run_resumed` not yet. */
  readonly waitingShown: boolean;
  /** The note that turns run out was given. */
  readonly wrapUpSaid?: boolean;
  readonly light: boolean;
  /** Since when the deployment lacks the run's agent (CF-34). */
  readonly missingSince: number | null;
  readonly revision: string;
  readonly usage: Usage;
  readonly budget: RunBudget;
  readonly counters: Counters;
  readonly outputSchema: Json | null;
  /** Tools that effects took out of this turn (EF-7). */
  readonly hidden: readonly string[];
  /** Kinds of the effects that did, one for each; absent: none did yet. */
  readonly hiders?: readonly string[];
  /** Notes of effects that wait for the results of the open calls (EF-2). */
  readonly notes: readonly { readonly kind: string; readonly text: string; readonly reason?: string }[];
  /** Times that the provider refused this turn's request as too long (EF-25). */
  readonly overflows: number;
  /** The open turn has had its compaction (EF-26). */
  readonly climbed?: boolean;
  /** What it still has to be told; absent: nothing. */
  readonly wants?: readonly Want[];
  /** A compaction that the API asked for, before the next turn (EF-27). */
  readonly compact: { readonly instructions: string | null } | null;
  /** The last completed model call of the open turn, for its metrics. */
  readonly reply: Reply | null;
  /** Lane of the newest attempt. */
  readonly lane: { readonly provider: string; readonly model: string; readonly window: number };
}

export interface Thread {
  readonly id: string;
  readonly agent: string;
  /** Messages that are not retired, in the order of the view. */
  readonly chat: readonly Message[];
  /** Sum of the chat's tokens as a model sees it. */
  readonly tokens: number;
  /** Tokens that edits took out of the view since the last call (EF-8). */
  readonly removed: number;
  /** Tools that effects took out of the last call; absent: none (EF-8). */
  readonly lastHidden?: readonly string[];
  /** `pos` of the newest message that a call has seen; -1 before the first. */
  readonly seen: number;
  readonly nextPos: number;
  readonly inbox: readonly Input[];
  readonly run: Run | null;
  /** Completed model calls. */
  readonly calls: number;
  readonly lastUsage: Usage | null;
  /** Newest message of the previous request (MO-12). */
  readonly previousNewest: string | null;
  readonly firstInput: Message | null;
  readonly warnedUtilization: boolean;
  /** State of the effects by their keys (EF-3). */
  readonly effects: Readonly<Record<string, Json>>;
  /** Newest finished calls, oldest first (EF-31). */
  readonly history: readonly CallRecord[];
  /** Numbers of records: the next one, the first after the last human input, the first after the first compaction since then. */
  readonly recordMarks: {
    readonly next: number;
    readonly input: number;
    readonly compaction: number | null;
  };
  /** State of the guards by their kinds (EF-34). */
  readonly guards: Readonly<Record<string, Json>>;
  /** What its ended runs changed, since the chat was cleared (EF-22). */
  readonly files: Counters["files"];
  readonly parent: { readonly thread: string; readonly call: string } | null;
  /** Of a called agent; null in `main`. */
  readonly child: Child | null;
  readonly depth: number;
  /** Results that are being told to the person: the runs that tried since the newest came, the inputs, and when the next one does (AG-31). */
  readonly announce: {
    readonly runs: readonly string[];
    readonly inputs: readonly string[];
    readonly at: number | null;
  } | null;
  readonly lastRun: string | null;
}

/** A permission that an answer left behind (TB-8). */
export interface Grant {
  readonly id: string;
  readonly scope: "session" | "agent";
  readonly agent: string;
  readonly tool: string;
  readonly pattern: string;
  readonly by: string;
  readonly at: number;
}

export interface Session {
  readonly id: string;
  readonly tenant: string;
  readonly agent: string;
  /** What the agent is shown with. */
  readonly prefix: string;
  readonly ref: string | null;
  readonly title: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly revision: string;
  readonly interactive: boolean;
  readonly tools: readonly string[] | null;
  readonly clientTools: readonly ClientTool[];
  readonly model: string | null;
  /** Whether `model` is `main`'s alone, or its children's, too (MO-38). */
  readonly modelScope: "main" | "tree";
  /** Set by its caller; narrows the team's (AP-41). */
  readonly budget: SessionBudget | null;
  readonly funds: Funds;
  readonly outputSchema: Json | null;
  /** Days at rest after which it is deleted, set by its caller; absent or null: the team's (AP-16). */
  readonly retentionDays?: number | null;
  /** Older keys of commands are forgotten; absent before the first key (AP-6). */
  readonly keysSince?: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** `seq` of the newest event. */
  readonly head: number;
  readonly nextRun: number;
  readonly nextInput: number;
  readonly nextBlob: number;
  /** Number of the next edit of a view, from 1: it orders overlays and retirements. */
  readonly nextEdit: number;
  readonly threads: Readonly<Record<string, Thread>>;
  /** Threads that wait for a slot, first come first (AG-21). */
  readonly queue: readonly string[];
  /** Called threads so far, by the run of `main` they belong to, while any of it is alive. */
  readonly trees: Readonly<Record<string, number>>;
  /** Numbers of the newest labels, by agent (AG-15). */
  readonly labels: Readonly<Record<string, number>>;
  /** Open asks only; resolved ones are rows. */
  readonly asks: Readonly<Record<string, Ask>>;
  readonly grants: readonly Grant[];
  /** The task board (AG-43). */
  readonly tasks: Tasks;
  /** What is said once of a model: parameters that it did not take (MO-7), a price that is not known. */
  readonly dropped: readonly string[];
  /** Project context that the workspace brought along at the first run (AG-40); absent: none. */
  readonly external?: { readonly text: string };
  /** What has to reach the team's object; absent or null: nothing. */
  readonly outbox?: Outbox | null;
  /** Whether its sandbox was ever asked for. */
  readonly sandboxed: boolean;
  /** Commands of the sandbox in the background, or to be ended; absent or null: none. */
  readonly commands?: LeftCommands | null;
  /** That a window is small was said (EF-30). */
  readonly windowWarned?: boolean;
  readonly usage: Totals;
}
