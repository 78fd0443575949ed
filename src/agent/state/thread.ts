import type { Json, Message, ContentPart } from "../../chat/message.ts";
import type { RefusedBefore } from "../../chat/refused.ts";
import type { Usage } from "../../model/completer.ts";
import type { Child, ChildWait } from "./child.ts";
import type { CallRecord } from "./records.ts";
import type { RunCounters, Run, RunEnding } from "./run.ts";
import { noFiles } from "./files.ts";
import type { Session } from "./session.ts";
import type { RetryWait } from "./ask.ts";
import { isDue } from "./ask.ts";
import type { OnBusy } from "./events.ts";

/** Message to a session, as it is stored; `at` is in milliseconds since the epoch. */
export interface Input {
  readonly id: string;
  readonly thread: string;
  readonly content: readonly ContentPart[];
  readonly on_busy: OnBusy;
  readonly sender: string | null;
  readonly origin: "human" | "agent";
  readonly status: "accepted" | "applied" | "withdrawn" | "returned";
  readonly at: number;
  readonly output_schema?: Json;
  readonly light?: boolean;
  readonly prior_episode_summaries?: readonly string[];
  /** The question of a called agent that it carries. */
  readonly question?: string;
  /** Version that each edit changes: the `If-Match` of PATCH. */
  readonly version: number;
}

/** Returns whether an input is another agent's message to the main thread, which tells the person of it once. */
export const isAgentMessage = ({ origin, thread }: Input): boolean => origin === "agent" && thread === "main";

/** The fields of a thread in which nothing was said, or whose chat was cleared. */
export const emptyChat = {
  chat: [],
  tokens: 0,
  removed: 0,
  lastHidden: [],
  lastUsage: null,
  previousNewest: null,
  refusedBefore: {},
  firstInput: null,
  warnedUtilization: false,
  effects: {},
  history: [],
  guards: {},
  files: noFiles,
  lastEnd: null,
  compact: null,
} satisfies Partial<Thread>;

/** Returns a thread that has not begun any work. */
export const newThread = (
  id: string,
  agent: string,
  called: Pick<Thread, "parent" | "child" | "depth"> = { parent: null, child: null, depth: 0 },
): Thread => ({
  id,
  agent,
  ...emptyChat,
  seen: -1,
  nextPos: 0,
  inbox: [],
  run: null,
  calls: 0,
  recordMarks: { next: 1, input: 1, compaction: null },
  announce: null,
  lastRun: null,
  ...called,
});

/** Returns whether a called thread works or has an end that its caller does not know yet. */
export const isChildOpen = ({ child }: Thread): boolean => child !== null && !child.idle;

/** Lists the children of a thread that have an end which it does not know yet. */
export const openChildren = ({ threads }: Session, threadId: string): readonly Thread[] =>
  Object.values(threads).filter((thread) => thread.parent?.thread === threadId && isChildOpen(thread));

/** Lists the children of a wait that have not ended. */
export const workingChildrenOf = (
  { threads }: Pick<Session, "threads">,
  children: ChildWait | null,
): readonly Thread[] =>
  (children?.slots ?? []).flatMap((slot) => {
    const thread = typeof slot === "string" ? threads[slot] : undefined;
    return thread !== undefined && isChildOpen(thread) ? [thread] : [];
  });

/** Returns whether any thread of a session has a run. */
export const hasRun = ({ threads }: Pick<Session, "threads">): boolean =>
  Object.values(threads).some(({ run }) => run !== null);

/** Lists the inputs that wait in a session. */
export const waitingInputsOf = ({ threads }: Pick<Session, "threads">): readonly Input[] =>
  Object.values(threads).flatMap(({ inbox }) => inbox);

/** Returns whether something waits that begins a run as soon as one may start. */
const hasQueuedWork = ({ threads }: Session): boolean =>
  Object.values(threads).some(({ inbox, compact }) => inbox.length > 0 || compact != null);

/** Derives the status, which is never stored: a waiting session is not idle. */
export const sessionStatusOf = (session: Session): "idle" | "running" | "waiting" => {
  const runs = Object.values(session.threads).flatMap(({ run }) => (run === null ? [] : [run]));
  if (runs.length === 0) return hasQueuedWork(session) ? "running" : "idle";
  return runs.every((run) => run.waitingShown) ? "waiting" : "running";
};

/** Returns whether something waits for a thread at rest that begins a run. */
export const hasWork = ({ run, inbox, compact, announce }: Thread, now: number): boolean =>
  run === null && (inbox.length > 0 || compact !== null || isDue(announce?.wait ?? null, now));

/** Lists the steered inputs that wait for the next turn boundary; a light run leaves agents' messages to a run that reports. */
export const steeringInputsOf = ({ inbox, run }: Pick<Thread, "inbox" | "run">): readonly Input[] =>
  inbox.filter((input) => input.on_busy === "steer" && !(run?.light === true && isAgentMessage(input)));

/** Returns whether a person's message comes first at the next turn boundary. */
export const isSteeredByPerson = (thread: Thread): boolean =>
  steeringInputsOf(thread).some(({ origin }) => origin === "human");

/** Returns whether a thread waits for its caller's answer. */
export const isAskingCaller = ({ child, run }: Thread): boolean =>
  run !== null && (child?.question ?? null) !== null;

export interface Thread {
  readonly id: string;
  readonly agent: string;
  /** Messages that are not retired, in the order of the view. */
  readonly chat: readonly Message[];
  /** Tokens of the chat as a model sees it. */
  readonly tokens: number;
  /** Tokens that edits took out of the view since the last call. */
  readonly removed: number;
  /** Tools that effects took out of the last call. */
  readonly lastHidden: readonly string[];
  /** The `pos` of the newest message that a call has seen; -1 before the first. */
  readonly seen: number;
  readonly nextPos: number;
  readonly inbox: readonly Input[];
  readonly run: Run | null;
  /** Number of completed model calls. */
  readonly calls: number;
  readonly lastUsage: Usage | null;
  /** The newest message of the previous request. */
  readonly previousNewest: string | null;
  /** What each model target refused of the chat, which stays out of requests to it. */
  readonly refusedBefore: Readonly<Record<string, RefusedBefore>>;
  readonly firstInput: Message | null;
  readonly warnedUtilization: boolean;
  /** State of each effect by its key. */
  readonly effects: Readonly<Record<string, Json>>;
  /** The newest finished calls, oldest first. */
  readonly history: readonly CallRecord[];
  /** Numbers of the next record, of the first since the last human input, and of the first since compaction after it. */
  readonly recordMarks: {
    readonly next: number;
    readonly input: number;
    readonly compaction: number | null;
  };
  /** State of each guard by its kind. */
  readonly guards: Readonly<Record<string, Json>>;
  /** Files that ended runs changed since the chat was cleared. */
  readonly files: RunCounters["files"];
  readonly parent: { readonly thread: string; readonly call: string } | null;
  /** Set for a called agent and null in `main`. */
  readonly child: Child | null;
  readonly depth: number;
  /** Results that have yet to reach the person: runs that tried, inputs, and the wait for the next try. */
  readonly announce: {
    readonly runs: readonly string[];
    readonly inputs: readonly string[];
    readonly wait: RetryWait | null;
  } | null;
  readonly lastRun: string | null;
  /** How the last run ended; null before the first end. */
  readonly lastEnd: Pick<RunEnding, "state" | "reason"> | null;
  /** Compaction that the API asked for: the run does it before its next turn, otherwise the next run does. */
  readonly compact: { readonly instructions: string | null } | null;
}
