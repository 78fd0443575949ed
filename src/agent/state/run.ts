import type { Json, Message } from "../../chat/message.ts";
import type { Purpose, Usage } from "../../model/completer.ts";
import type { FallbackChain } from "../../model/retry.ts";
import type { FileChange } from "../../sandbox/contract.ts";
import type { ProblemKind } from "../../session/problems.ts";
import type { BudgetReservation, ModelCallInFlight, RunBudget } from "./budget.ts";
import type { Call } from "./call.ts";
import type { EndReason, RunState } from "./events.ts";
import type { ReplyMetrics } from "./records.ts";
import type { Session } from "./session.ts";
import type { Thread } from "./thread.ts";

/** The whole stored state of a session: plain readonly JSON, changed only by transitions. */

/** How a run ends: decided with what it followed from, carried out as the next step. */
export interface RunEnding {
  readonly state: RunState;
  readonly reason: EndReason;
  readonly error: string | null;
}

const epochsOf = (run: Run): readonly number[] => {
  const calls = callsOfRun(run).flatMap(({ epoch }) => epoch);
  const works = run.phase.at === "thinking" || run.phase.at === "preparing";
  return works ? [run.phase.epoch, ...calls] : calls;
};

/** The number of a new isolate: above every one that left work in the state, even if the clock stood still or went back. */
export const nextEpoch = (session: Session | null, now: number): number =>
  Object.values(session?.threads ?? {})
    .flatMap(({ run }) => (run === null ? [] : epochsOf(run)))
    .reduce((newest, epoch) => Math.max(newest, epoch + 1), now);

/** `run_end.result`. */
export interface RunResult {
  readonly session_id: string;
  readonly run_id: string;
  readonly provider: string;
  readonly model: string;
  readonly reason: EndReason;
  readonly duration_ms: number;
  readonly turns: number;
  readonly max_turns_used: boolean;
  readonly loop_detected: boolean;
  readonly no_progress_detected: boolean;
  readonly cost_exceeded: boolean;
  readonly truncated: boolean;
  readonly breach_verify: "not_run" | "passed" | "failed";
  readonly tool_calls: number;
  readonly files_modified: readonly string[];
  readonly files_created: readonly string[];
  readonly files_deleted: readonly string[];
  readonly usage: Usage;
  readonly cost_usd: number | null;
  readonly estimated: boolean;
  readonly context_utilization: number;
  readonly tool_cache_hits: number;
  readonly tool_cache_misses: number;
  readonly tool_timings: Readonly<Record<string, number>>;
  readonly compactions_applied: number;
  readonly longest_turn_ms: number;
  readonly episode_summary: string;
  readonly error: string | null;
  readonly text: string;
}

/** Files that a run has changed, each in one list: by what it comes to from the run's start. */

type ChangedFiles = RunCounters["files"];

type FileChangeKind = keyof ChangedFiles;

const changeKindOf = (files: ChangedFiles, path: string): FileChangeKind | null => {
  const kinds: readonly FileChangeKind[] = ["created", "modified", "deleted"];
  return kinds.find((kind) => files[kind].includes(path)) ?? null;
};

const moveFile = (files: ChangedFiles, path: string, to: FileChangeKind | null): ChangedFiles => {
  const from = changeKindOf(files, path);
  if (from === to) return files;
  return {
    ...files,
    ...(from === null ? {} : { [from]: files[from].filter((each) => each !== path) }),
    ...(to === null ? {} : { [to]: [...files[to], path] }),
  };
};

/** A file that was deleted before in this run was there at its start: written again, it is a changed one. */
const applyWrite = (files: ChangedFiles, path: string, isNew: boolean): ChangedFiles => {
  const before = changeKindOf(files, path);
  if (before === "deleted") return moveFile(files, path, "modified");
  return before === null ? moveFile(files, path, isNew ? "created" : "modified") : files;
};

const applyRemoval = (files: ChangedFiles, path: string): ChangedFiles =>
  moveFile(files, path, changeKindOf(files, path) === "created" ? null : "deleted");

const applyFileChange = (files: ChangedFiles, { op, path, from }: FileChange): ChangedFiles => {
  if (op === "delete") return applyRemoval(files, path);
  if (op === "move") return applyWrite(from === undefined ? files : applyRemoval(files, from), path, true);
  return applyWrite(files, path, op === "create");
};

/** The lists after some changes, in their order. */
export const applyFileChanges = (files: ChangedFiles, changes: readonly FileChange[]): ChangedFiles =>
  changes.reduce(applyFileChange, files);

export const noFiles: ChangedFiles = { modified: [], created: [], deleted: [] };

/** Newest files of each kind that a thread remembers. */
const mostKeptFiles = 200;

const changesOf = ({ created, modified, deleted }: ChangedFiles): readonly FileChange[] => [
  ...created.map((path) => ({ op: "create", path }) as const),
  ...modified.map((path) => ({ op: "modify", path }) as const),
  ...deleted.map((path) => ({ op: "delete", path }) as const),
];

/** What a thread remembers after a run: summaries tell of more than one run. The same lists if the run touched none. */
export const mergeFiles = (before: ChangedFiles, run: ChangedFiles): ChangedFiles => {
  const changes = changesOf(run);
  if (changes.length === 0) return before;
  const { created, modified, deleted } = applyFileChanges(before, changes);
  return {
    created: created.slice(-mostKeptFiles),
    modified: modified.slice(-mostKeptFiles),
    deleted: deleted.slice(-mostKeptFiles),
  };
};

/** What a run's model calls are for. */
export const purposeOf = ({ repair, announces }: Pick<Run, "repair" | "announces">): Purpose => {
  if (repair) return "repair";
  return announces ? "announce" : "turn";
};

/** The place of a model call at its provider's gate. */
export interface Ticket {
  readonly provider: string;
  readonly id: string;
  /** It is the call's: the gate need not be asked again. */
  readonly booked: boolean;
}

/** Names a call for its provider's gate. */
export const ticketId = (session: string, thread: string, call: string): string =>
  `${session}:${thread}:${call}`;

/** Not `ok`: three tries were in vain. Where a budget leaves no room the run asks for more or ends, and there is no reply. */
export type EffectReply =
  | { readonly ok: true; readonly text: string; readonly attempts: number }
  | { readonly ok: false; readonly error: string; readonly attempts: number };

/** Why an effect runs outside its threshold: the provider refused the request as too long, or the API asked. */
export type ForceReason =
  | { readonly why: "overflow"; readonly count: number }
  | { readonly why: "api"; readonly instructions: string | null };

/** The calls of a thread that is acting; none otherwise. */
export const callsOfRun = (run: Run | null): readonly Call[] =>
  run?.phase.at === "acting" ? run.phase.calls : [];

/** `at` = when it is over, null while it stands still; `left` = milliseconds that remain then. */
export interface RunClock {
  readonly at: number | null;
  readonly left: number;
}

/** When a run is over by the clock: its deadline, or its active time; null = never. */
export const runDeadlineOf = ({ deadline, clock }: Run): number | null => {
  const at = clock?.at ?? null;
  if (deadline === null || at === null) return deadline ?? at;
  return Math.min(deadline, at);
};

const isInputMessage = ({ role, origin, summary }: Message): boolean =>
  role === "user" && (origin === "human" || origin === "agent") && summary === undefined;

/** Around it stand what its agent was told before, what is remembered, and what joined the run since. */
const isTaskMessage = ({ id, task }: Run, message: Message): boolean =>
  task === undefined ? message.run === id && isInputMessage(message) : message.id === task;

/** The input that began a run; the newest of all for a run that only compacts. */
export const findTaskMessage = ({ chat, firstInput }: Thread, run: Run): Message | null =>
  (run.inputs.length === 0
    ? chat.findLast(isInputMessage)
    : chat.find((message) => isTaskMessage(run, message))) ??
  (firstInput !== null && isTaskMessage(run, firstInput) ? firstInput : null);

/** Why a run failed, as `run_end` says it: a problem like those of refused requests, its code the end's reason. */
export interface RunProblem extends ProblemKind {
  readonly type: string;
  readonly detail: string;
  readonly code: EndReason;
}

/** What came of a call or question of an effect; a number counts the tries so far. */
export type EffectMemo = EffectReply | string | number;

export interface PreparingPhase {
  readonly at: "preparing";
  /** Position in the agent's before-effects; -1: its ladder, forced; -2: the run's briefing. */
  readonly effect: number;
  readonly force: ForceReason | null;
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
  readonly calling: ModelCallInFlight | null;
  /** What its model call waits for; absent or null: no call does. */
  readonly place?: Ticket | null;
  /** Replies and answers by the digest of what was asked: what is here is never asked again. */
  readonly memo: Readonly<Record<string, EffectMemo>>;
  /** What an earlier effect of the phase ends the run with, once the phase is done. */
  readonly stop?: NonNullable<Run["stop"]>;
}

export type Phase =
  | { readonly at: "ready" }
  | {
      readonly at: "thinking";
      readonly attempt: number;
      readonly epoch: number;
      readonly startedAt: number;
      readonly lanes: FallbackChain;
      readonly booked: boolean;
      readonly items: readonly string[];
      readonly hold: BudgetReservation;
      /** Newest edit of the session, and model override of the thread, when it began. */
      readonly from: { readonly edit: number; readonly override: string | null };
    }
  | {
      readonly at: "waiting";
      readonly attempt: number;
      readonly until: number;
      readonly lanes: FallbackChain;
      readonly booked: boolean;
      readonly why: "retry" | "gate" | "crash" | "budget";
    }
  | { readonly at: "acting"; readonly calls: readonly Call[] }
  /** An effect is at work that needs a model or a person. */
  | PreparingPhase;

export interface RunCounters {
  readonly toolCalls: number;
  /** 10⁻⁹ USD; null once a call had no price. */
  readonly cost: number | null;
  readonly estimated: boolean;
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly longestTurnMs: number;
  /** Replies in a row that were cut by length with calls, cut by length with text, or empty. */
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
  /** Attempts without committed content since the last. */
  readonly deadAttempts: number;
  readonly toolRan: boolean;
  readonly truncated: boolean;
  /** Stages of compaction that shrank the view. */
  readonly compactions?: number;
  /** `input_truncated_suspected` was said. */
  readonly inputDoubted?: boolean;
  readonly timings: Readonly<Record<string, number>>;
  readonly files: Readonly<Record<"modified" | "created" | "deleted", readonly string[]>>;
}

/** What a run is told before its first turn: the workspace's project context, lessons of runs that failed, what is remembered. */
export type BriefingTopic = "context" | "reflections" | "memory";

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
  /** An uncounted repair turn follows. */
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
    /** It counts as one that used up its turns. */
    readonly exhausted?: boolean;
  } | null;
  /** Set by whatever decides that it is over; null before. */
  readonly ending: RunEnding | null;
  /** It is over but for the background children that are still at work, and would end so. */
  readonly lingers: "end_turn" | "terminal_tool" | null;
  /** It tells the person what an agent in the background came to. */
  readonly announces: boolean;
  /** `run_waiting` was said and `run_resumed` not yet. */
  readonly waitingShown: boolean;
  /** The note that turns run out was given. */
  readonly wrapUpSaid?: boolean;
  readonly light: boolean;
  /** Since when the deployment lacks the run's agent. */
  readonly missingSince: number | null;
  readonly revision: string;
  readonly usage: Usage;
  readonly budget: RunBudget;
  readonly counters: RunCounters;
  readonly outputSchema: Json | null;
  /** Tools that effects took out of this turn. */
  readonly hidden: readonly string[];
  /** Kinds of the effects that did, one for each; absent: none did yet. */
  readonly hiders?: readonly string[];
  /** Notes of effects that wait for the results of the open calls. */
  readonly notes: readonly { readonly kind: string; readonly text: string; readonly reason?: string }[];
  /** Times that the provider refused this turn's request as too long. */
  readonly overflows: number;
  /** The open turn has had its compaction. */
  readonly climbed?: boolean;
  /** What it still has to be told; absent: nothing. */
  readonly wants?: readonly BriefingTopic[];
  /** A compaction that the API asked for, before the next turn. */
  readonly compact: { readonly instructions: string | null } | null;
  /** The last completed model call of the open turn, for its metrics. */
  readonly reply: ReplyMetrics | null;
  /** Lane of the newest attempt. */
  readonly lane: { readonly provider: string; readonly model: string; readonly window: number };
}
