import type { Json, Message } from "../../chat/message.ts";
import type { Purpose, Usage } from "../../model/completer.ts";
import type { FallbackChain } from "../../model/retry.ts";
import type { FileChange } from "../../sandbox/contract.ts";
import type { RunBudget } from "./budget.ts";
import type { Call } from "./call.ts";
import type { EndReason, RunState } from "./events.ts";
import type { ModelCall, Ticket } from "./model-call.ts";
import type { ReplyMetrics } from "./records.ts";
import type { Session } from "./session.ts";
import type { Thread } from "./thread.ts";

/** The whole stored state of a session is plain readonly JSON that only transitions change. */

/** The ending of a run is stored when it is decided and carried out as the next step. */
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

/** A new isolate's number is above every one that left work in the state, even if the clock stood still. */
export const nextEpoch = (session: Session | null, now: number): number =>
  Object.values(session?.threads ?? {})
    .flatMap(({ run }) => (run === null ? [] : epochsOf(run)))
    .reduce((newest, epoch) => Math.max(newest, epoch + 1), now);

/** This is `run_end.result`. */
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

/** Each file that a run has changed is in one list, by its change since the run's start. */

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

/** A file that the run deleted was there at its start: if written again, it counts as changed. */
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

/** The changes are applied to the lists in their order. */
export const applyFileChanges = (files: ChangedFiles, changes: readonly FileChange[]): ChangedFiles =>
  changes.reduce(applyFileChange, files);

export const noFiles: ChangedFiles = { modified: [], created: [], deleted: [] };

/** A thread remembers this many of the newest files of each kind. */
const mostKeptFiles = 200;

const changesOf = ({ created, modified, deleted }: ChangedFiles): readonly FileChange[] => [
  ...created.map((path) => ({ op: "create", path }) as const),
  ...modified.map((path) => ({ op: "modify", path }) as const),
  ...deleted.map((path) => ({ op: "delete", path }) as const),
];

/** Files of the run join those of its thread, since summaries cover several runs; unchanged if it touched none. */
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

/** The purpose says what a run's model calls are for. */
export const purposeOf = ({ repair, announces }: Pick<Run, "repair" | "announces">): Purpose => {
  if (repair) return "repair";
  return announces ? "announce" : "turn";
};

/** If not `ok`, three tries failed. Where a budget is too small, the run asks for more or ends without a reply. */
export type EffectReply =
  | { readonly ok: true; readonly text: string; readonly attempts: number }
  | { readonly ok: false; readonly error: string; readonly attempts: number };

/** An effect is forced if the provider refused the request as too long, or if the API asked for it. */
export type ForceReason =
  | { readonly why: "overflow"; readonly count: number }
  | { readonly why: "api"; readonly instructions: string | null };

/** These are the calls of a thread that is acting; otherwise there are none. */
export const callsOfRun = (run: Run | null): readonly Call[] =>
  run?.phase.at === "acting" ? run.phase.calls : [];

/** `at` is when the time is over, null while the clock is stopped; `left` is then what remains, in milliseconds. */
export interface RunClock {
  readonly at: number | null;
  readonly left: number;
}

/** The clock ends a run at its deadline or when its active time is used up; null means never. */
export const runDeadlineOf = ({ deadline, clock }: Run): number | null => {
  const at = clock?.at ?? null;
  if (deadline === null || at === null) return deadline ?? at;
  return Math.min(deadline, at);
};

const isInputMessage = ({ role, origin, summary }: Message): boolean =>
  role === "user" && (origin === "human" || origin === "agent") && summary === undefined;

/** Earlier reports, memories and inputs that joined later stand around the task and are not it. */
const isTaskMessage = ({ id, task }: Run, message: Message): boolean =>
  task === undefined ? message.run === id && isInputMessage(message) : message.id === task;

/** The message of the input that began a run is its task; a run that only compacts takes the newest input. */
export const findTaskMessage = ({ chat, firstInput }: Thread, run: Run): Message | null =>
  (run.inputs.length === 0
    ? chat.findLast(isInputMessage)
    : chat.find((message) => isTaskMessage(run, message))) ??
  (firstInput !== null && isTaskMessage(run, firstInput) ? firstInput : null);

/** `run_end` reports a failure as a problem like those of refused requests, with the end's reason as its code. */
export interface RunProblem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: EndReason;
  readonly retryable: boolean;
}

/** The memo holds the outcome of an effect's call or question; a number counts the tries so far. */
export type EffectMemo = EffectReply | string | number;

/** Work outside the commit comes before a model attempt; `index` is a position among the agent's before-effects. */
export type PreparedWork =
  | { readonly kind: "effect"; readonly index: number }
  | { readonly kind: "compaction"; readonly force: ForceReason }
  | { readonly kind: "briefing" };

export interface PreparingPhase {
  readonly at: "preparing";
  readonly work: PreparedWork;
  /** The next model attempt has this number. */
  readonly attempt: number;
  readonly epoch: number;
  /** It counts the starts so far. */
  readonly round: number;
  readonly startedAt: number;
  /** It is null while the effect works, otherwise the time at which it goes on. */
  readonly until: number | null;
  readonly why: "retry" | "ask" | "crash" | "gate" | "budget";
  /** The effect waits for this open question, whose answer is stored under `key`. */
  readonly ask: { readonly id: string; readonly key: string } | null;
  /** The work is making this model call. */
  readonly call: ModelCall | null;
  /** The model call waits for this ticket; null if none does. */
  readonly ticket: Ticket | null;
  /** Replies and answers are kept by the digest of what was asked, so nothing is asked twice. */
  readonly memo: Readonly<Record<string, EffectMemo>>;
  /** An earlier effect of the phase ends the run with this, once the phase is done. */
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
      /** These were the newest edit of the session and the model override of the thread when it began. */
      readonly from: { readonly edit: number; readonly override: string | null };
    }
  | {
      readonly at: "waiting";
      readonly attempt: number;
      readonly until: number;
      readonly chain: FallbackChain;
      /** The attempt waits for this ticket; null if for none. */
      readonly ticket: Ticket | null;
      readonly why: "retry" | "gate" | "crash" | "budget";
    }
  | { readonly at: "acting"; readonly calls: readonly Call[] }
  /** An effect, a compaction or the briefing needs a model, a person or another system. */
  | PreparingPhase;

export interface RunCounters {
  readonly toolCalls: number;
  /** The cost is in 10⁻⁹ USD; null once a call had no price. */
  readonly cost: number | null;
  readonly estimated: boolean;
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly longestTurnMs: number;
  /** They count replies in a row that were cut by length with calls, cut with text, or empty. */
  readonly cutCalls: number;
  readonly cutText: number;
  readonly empty: number;
  /** They count all repair turns so far, whoever asked for them. */
  readonly repairs: number;
  /** So many answers did not fit the schema and were sent back. */
  readonly misfits: number;
  /** A guardrail refused the run's last text, so that it is no answer. */
  readonly withheld: boolean;
  /** Each guardrail, by its position, sent back this many answers. */
  readonly rejected: Readonly<Record<string, number>>;
  /** They count the attempts since the last committed content. */
  readonly deadAttempts: number;
  readonly toolRan: boolean;
  readonly truncated: boolean;
  /** So many stages of compaction shrank the view. */
  readonly compactions: number;
  /** `input_truncated_suspected` was reported. */
  readonly inputDoubted: boolean;
  readonly timings: Readonly<Record<string, number>>;
  readonly files: Readonly<Record<"modified" | "created" | "deleted", readonly string[]>>;
}

/** A run begins with these counters. */
export const newCounters = (): RunCounters => ({
  toolCalls: 0,
  cost: 0,
  estimated: false,
  cacheHits: 0,
  cacheMisses: 0,
  longestTurnMs: 0,
  cutCalls: 0,
  cutText: 0,
  empty: 0,
  repairs: 0,
  misfits: 0,
  deadAttempts: 0,
  toolRan: false,
  truncated: false,
  withheld: false,
  rejected: {},
  compactions: 0,
  inputDoubted: false,
  timings: {},
  files: noFiles,
});

/** Before its first turn a run may get the project context, lessons of failed runs, and memories. */
export type BriefingTopic = "context" | "reflections" | "memory";

export interface Run {
  readonly id: string;
  readonly inputs: readonly string[];
  /** It is the message of the input that began the run; absent if the run took up existing messages. */
  readonly task?: string;
  readonly startedAt: number;
  /** Turns count from 1; 0 before the first. */
  readonly turn: number;
  readonly turnStartedAt: number;
  readonly turnOpen: boolean;
  /** A repair turn, which is not counted, follows. */
  readonly repair: boolean;
  readonly phase: Phase;
  readonly deadline: number | null;
  /** It holds the run's active time, if that is bounded. */
  readonly clock: RunClock | null;
  readonly cancel: {
    readonly mode: "now" | "after_turn";
    /** Running calls are given up then. */
    readonly until: number;
    readonly reason: "cancelled" | "interrupted" | "rolled_back";
    /** These inputs go back to their sender at the run's end. */
    readonly returns: readonly string[];
  } | null;
  readonly stop: {
    readonly reason: EndReason;
    readonly error: string | null;
    /** The run counts as one that used up its turns. */
    readonly exhausted?: boolean;
  } | null;
  /** It is set when the run's end is decided, and null before. */
  readonly ending: RunEnding | null;
  /** Only background children are still at work; when they end, the run ends with this reason. */
  readonly lingers: "end_turn" | "terminal_tool" | null;
  /** The run reports the result of a background agent to the person. */
  readonly announces: boolean;
  /** `run_waiting` was emitted and `run_resumed` not yet. */
  readonly waitingShown: boolean;
  /** The note that the turns run out was given. */
  readonly wrapUpSaid: boolean;
  readonly light: boolean;
  /** The deployment has lacked the run's agent since then. */
  readonly missingSince: number | null;
  readonly revision: string;
  readonly usage: Usage;
  readonly budget: RunBudget;
  readonly counters: RunCounters;
  readonly outputSchema: Json | null;
  /** Effects took these tools out of this turn. */
  readonly hidden: readonly string[];
  /** Effects of these kinds hid them, one for each. */
  readonly hiders: readonly string[];
  /** These notes of effects wait for the results of the open calls. */
  readonly notes: readonly { readonly kind: string; readonly text: string; readonly reason?: string }[];
  /** The provider refused this turn's request as too long this often. */
  readonly overflows: number;
  /** The open turn has had its compaction. */
  readonly compacted: boolean;
  /** The run still has to be briefed on these topics. */
  readonly wants: readonly BriefingTopic[];
  /** The API asked for this compaction, which runs before the next turn. */
  readonly compact: { readonly instructions: string | null } | null;
  /** The metrics of the open turn come from this last completed model call. */
  readonly reply: ReplyMetrics | null;
  /** This is the model target of the newest attempt. */
  readonly target: { readonly provider: string; readonly model: string; readonly window: number };
}
