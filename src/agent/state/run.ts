import type { Json, Message } from "../../chat/message.ts";
import type { Purpose, Usage } from "../../model/completer.ts";
import type { BudgetScope, LimitKind, RunBudget, Spending } from "./budget.ts";
import { noRunBudget, noSpending } from "./budget.ts";
import type { Call } from "./call.ts";
import type { EndReason, RunState } from "./events.ts";
import { type ChangedFiles, noFiles } from "./files.ts";
import type { Phase, Verification, RunPlan } from "./phase.ts";
import { isPlanning } from "./phase.ts";
import type { ReplyMetrics } from "./records.ts";
import type { Session } from "./session.ts";
import type { Thread } from "./thread.ts";
import type { Wait } from "./ask.ts";

/** The whole stored state of a session is plain readonly JSON that only transitions change. */

/** Ending of a run, stored when it is decided and carried out as the next step. */
export interface RunEnding {
  readonly state: RunState;
  readonly reason: EndReason;
  readonly error: string | null;
  /** Whether the same request would fail again, although its reason may pass. */
  readonly isFinal?: boolean;
}

/** Returns a run's number; runs are numbered in the order in which they begin. */
export const runNumberOf = (id: string): number => Number(id.slice("run_".length));

const epochsOf = (run: Run): readonly number[] => {
  const calls = callsOfRun(run).flatMap(({ epoch }) => epoch);
  const works = run.phase.at === "thinking" || run.phase.at === "preparing";
  return works ? [run.phase.epoch, ...calls] : calls;
};

/** Returns the number of a new isolate, above every one that left work in the state, even if the clock stood still. */
export const nextEpoch = (session: Session | null, now: number): number =>
  Object.values(session?.threads ?? {})
    .flatMap(({ run }) => (run === null ? [] : epochsOf(run)))
    .reduce((newest, epoch) => Math.max(newest, epoch + 1), now);

/** The data of `run_end.result`. */
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
  readonly tool_counts: Readonly<Record<string, number>>;
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

/** Returns what a run's model calls are for. */
export const purposeOf = ({
  plan,
  repair,
  announces,
}: Pick<Run, "plan" | "repair" | "announces">): Purpose => {
  if (isPlanning(plan)) return "plan";
  if (repair) return "repair";
  return announces ? "announce" : "turn";
};

/** The calls of a thread that is acting; otherwise there are none. */
export const callsOfRun = (run: Run | null): readonly Call[] =>
  run?.phase.at === "acting" ? run.phase.calls : [];

/** Returns what a run's attempt, its prepared work or its parked calls wait for. */
export const waitsOf = ({ phase }: Run): readonly Wait[] => {
  if (phase.at === "waiting" || phase.at === "preparing") return phase.wait === null ? [] : [phase.wait];
  if (phase.at !== "acting") return [];
  return phase.calls.flatMap(({ status, wait }) => (status === "parked" && wait !== null ? [wait] : []));
};

/** Clock of a run: `at` is when its time is over; null while the clock is stopped with `left` milliseconds. */
export interface RunClock {
  readonly at: number | null;
  readonly left: number;
}

/** Returns when the clock ends a run: at its deadline, or when its active time is used up; null means never. */
export const runDeadlineOf = ({ deadline, clock }: Run): number | null => {
  const at = clock?.at ?? null;
  if (deadline === null || at === null) return deadline ?? at;
  return Math.min(deadline, at);
};

const isInputMessage = ({ role, origin, summary }: Message): boolean =>
  role === "user" && (origin === "human" || origin === "agent") && summary === undefined;

/** Returns whether a message is the task; earlier reports, memories and inputs that joined later are not. */
const isTaskMessage = ({ id, task }: Run, message: Message): boolean =>
  task === null ? message.run === id && isInputMessage(message) : message.id === task;

/** Returns the message of the input that began a run; a run that only compacts takes the newest input. */
export const findTaskMessage = ({ chat, firstInput }: Thread, run: Run): Message | null =>
  (run.inputs.length === 0
    ? chat.findLast(isInputMessage)
    : chat.find((message) => isTaskMessage(run, message))) ??
  (firstInput !== null && isTaskMessage(run, firstInput) ? firstInput : null);

/** Failure as `run_end` reports it: a problem like those of refused requests, with the end's reason as its code. */
export interface RunProblem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: EndReason;
  readonly retryable: boolean;
}

export interface RunCounters {
  /** Number of calls by their tools, those of called agents, too. */
  readonly toolCounts: Readonly<Record<string, number>>;
  /** Number of the run's own calls that were reported as episodes. */
  readonly episodes: number;
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly longestTurnMs: number;
  /** Number of replies in a row that were cut by length with calls, cut with text, or empty. */
  readonly cutCalls: number;
  readonly cutText: number;
  readonly empty: number;
  /** Number of turns in a row that made no progress. */
  readonly idleTurns: number;
  /** Number of notes about failed calls in a row. */
  readonly reflections: number;
  /** Number of repair turns so far, whoever asked for them. */
  readonly repairs: number;
  /** Number of answers that did not fit the schema and were sent back. */
  readonly schemaRejections: number;
  /** Whether a guardrail refused the run's last text, so that it is no answer. */
  readonly withheld: boolean;
  /** Number of answers that each guardrail, by its position, sent back. */
  readonly rejected: Readonly<Record<string, number>>;
  /** Number of attempts since the last committed content whose isolate died. */
  readonly deadAttempts: number;
  /** Number of times since the last reply that the tenant's object gave no lease for want of an answer. */
  readonly unansweredLeases: number;
  readonly toolRan: boolean;
  /** Whether a call or a child is known to have changed a file. */
  readonly hasEdited: boolean;
  readonly truncated: boolean;
  /** Number of stages of compaction that shrank the view. */
  readonly compactions: number;
  readonly timings: Readonly<Record<string, number>>;
  readonly files: ChangedFiles;
  /** Whether foreign content, such as a web page, reached the run by a call of its own or of a child. */
  readonly untrusted: boolean;
}

/** Counters that a run begins with. */
export const freshCounters: RunCounters = {
  toolCounts: {},
  episodes: 0,
  cacheHits: 0,
  cacheMisses: 0,
  longestTurnMs: 0,
  cutCalls: 0,
  cutText: 0,
  empty: 0,
  idleTurns: 0,
  reflections: 0,
  repairs: 0,
  schemaRejections: 0,
  deadAttempts: 0,
  unansweredLeases: 0,
  toolRan: false,
  hasEdited: false,
  truncated: false,
  withheld: false,
  rejected: {},
  compactions: 0,
  timings: {},
  files: noFiles,
  untrusted: false,
};

/** What the calls of a turn, or of the repair turn that follows it, have done so far. */
export interface TurnWork {
  /** Whether a call was executed: the cache did not answer it, it was not denied, and its tool can make progress. */
  readonly ran: boolean;
  /** Whether a call of this thread changed a file by a tool outside `exec`; kept until a check of it has ended. */
  readonly edited: boolean;
  /** Whether the workspace changed, by a call or a child, or may have, because a command ran. */
  readonly changed: boolean;
}

/** Work of a turn that has just begun. */
export const noTurnWork: TurnWork = { ran: false, edited: false, changed: false };

/** Returns whether the turn brought the run further: until its first edit by any executed call, then by changes. */
export const hasProgress = ({ counters, turnWork }: Pick<Run, "counters" | "turnWork">): boolean =>
  turnWork.changed || (turnWork.ran && !counters.hasEdited);

/** Topics of the briefing: project context, lessons of failed runs, memories, files that fit, tools of servers. */
export type BriefingTopic = "context" | "reflections" | "memory" | "localize" | "servers";

/** Notice that is given once, to watchers or the model; the lists `said` of runs and sessions name those given. */
export type Notice =
  /** The run's turns run out, or it reached the checkpoint at this place of the agent's list. */
  | "turns_run_out"
  | `checkpoint ${number}`
  /** A limit is near or was reached. */
  | `near ${BudgetScope} ${LimitKind}`
  | `reached ${BudgetScope} ${LimitKind}`
  /** The server may have cut the run's input. */
  | "input_truncated"
  /** The model's window is small, its price is unknown, or it does not take a parameter. */
  | "small_window"
  | `unpriced ${string}`
  | `dropped ${string}`;

/** Values of fields that a run begins with, unless its start sets them. Rows leave them out, and reading puts them in. */
export const freshRun = {
  task: null,
  turn: 0,
  turnSince: null,
  repair: false,
  phase: { at: "ready" },
  deadline: null,
  clock: null,
  cancel: null,
  stop: null,
  ending: null,
  endAfterChildren: null,
  announces: false,
  waitingShown: false,
  said: [],
  light: false,
  missingSince: null,
  spent: noSpending,
  budget: noRunBudget,
  counters: freshCounters,
  outputSchema: null,
  hidden: {},
  notes: [],
  overflows: 0,
  compacted: false,
  turnWork: noTurnWork,
  answerFrom: 0,
  verification: null,
  briefingTopics: [],
  plan: null,
  reply: null,
} satisfies Partial<Run>;

export interface Run {
  readonly id: string;
  readonly inputs: readonly string[];
  /** The message of the input that began the run; null if the run took up existing messages. */
  readonly task: string | null;
  readonly startedAt: number;
  /** Number of the turn, from 1; 0 before the first. */
  readonly turn: number;
  /** Since when a turn is open; null if none is, as in a repair turn. */
  readonly turnSince: number | null;
  /** Whether a repair turn follows, which is not counted. */
  readonly repair: boolean;
  readonly phase: Phase;
  readonly deadline: number | null;
  /** The run's active time, if that is bounded. */
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
    /** Whether the run counts as one that used up its turns. */
    readonly exhausted?: boolean;
  } | null;
  /** Set when the run's end is decided, and null before. */
  readonly ending: RunEnding | null;
  /** Reason with which the run ends when its background children have ended, the only ones still at work. */
  readonly endAfterChildren: "end_turn" | "terminal_tool" | null;
  /** Whether the run reports the result of a background agent to the person. */
  readonly announces: boolean;
  /** Whether `run_waiting` was emitted and `run_resumed` not yet. */
  readonly waitingShown: boolean;
  /** Notices of the run that were given. */
  readonly said: readonly Notice[];
  readonly light: boolean;
  /** Since when the deployment has lacked the run's agent. */
  readonly missingSince: number | null;
  /** Spent by the run and everything below it. */
  readonly spent: Spending;
  readonly budget: RunBudget;
  readonly counters: RunCounters;
  readonly outputSchema: Json | null;
  /** Tools that effects took out of this turn: the kind of the effect by the name of the tool. */
  readonly hidden: Readonly<Record<string, string>>;
  /** Notes of effects that wait for the results of the open calls. */
  readonly notes: readonly { readonly kind: string; readonly text: string; readonly reason?: string }[];
  /** Number of times that the provider refused this turn's request as too long. */
  readonly overflows: number;
  /** Whether the open turn has had its compaction. */
  readonly compacted: boolean;
  readonly turnWork: TurnWork;
  /** Position of the chat before which no reply is a piece of the answer that the run is giving. */
  readonly answerFrom: number;
  /** Check of a turn's edits by a command, or of the run at its last turn; null if nothing is checked. */
  readonly verification: Verification | null;
  /** Topics on which the run still has to be briefed. */
  readonly briefingTopics: readonly BriefingTopic[];
  /** Null if the run makes no plan. */
  readonly plan: RunPlan | null;
  /** Last completed model call, from which the metrics of the open turn come. */
  readonly reply: ReplyMetrics | null;
  /** The model target of the newest attempt. */
  readonly target: { readonly provider: string; readonly model: string; readonly window: number };
}
