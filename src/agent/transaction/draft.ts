import type { Cause, Message, Part, ToolResultPart } from "../../chat/message.ts";
import { cleanText } from "../../chat/text.ts";
import type { ModelErrorCode } from "../../model/error.ts";
import type { Outcome } from "../../tools/errors.ts";
import { catchThrown } from "../../tools/errors.ts";
import type { Agent, AgentResolver } from "../definition/agent.ts";
import type { BriefingRules } from "../definition/memory.ts";
import type { Ask } from "../state/ask.ts";
import type { TeamBudgets } from "../state/budget.ts";
import type { Call } from "../state/call.ts";
import type { Child, ChildRecord } from "../state/child.ts";
import type { ItemKind, DataOf, EndReason, Episode, EventType, SessionEvent } from "../state/events.ts";
import type {
  EntryChange,
  EntryReader,
  StoreRules,
  EditRow,
  LedgerRow,
  RunRecord,
} from "../state/records.ts";
import { reportWithoutOutput } from "../state/events.ts";
import type { Input, Thread } from "../state/thread.ts";
import type { Phase } from "../state/phase.ts";
import { hasPlanned } from "../state/phase.ts";
import type { Notice, Run, RunCounters, RunProblem } from "../state/run.ts";
import type { Grant, Session } from "../state/session.ts";

/** What a revision of the team says of stores, briefings and budgets. */
export interface TeamRules {
  readonly storeRules: StoreRules;
  readonly briefing: BriefingRules;
  readonly budgets: TeamBudgets;
}

/** Time, randomness and live text, handed to a transition so that it stays a pure function. */
export interface TransactionContext extends TeamRules {
  /** Current time in milliseconds since the epoch. */
  readonly now: number;
  /** The number of this isolate; work that an older one began is lost. */
  readonly epoch: number;
  /** Returns 128 random bits in base32. */
  readonly random: () => string;
  /** Returns what an open item has shown so far; null if nothing is known of it. */
  readonly shown: (item: string) => { readonly kind: ItemKind; readonly text: string } | null;
  /** Estimates the tokens of a message's parts. */
  readonly estimate: (parts: readonly Part[]) => number;
  readonly agents: AgentResolver;
  /** Returns a number in [0, 1). */
  readonly fraction: () => number;
  /** Returns until when and why a model target is cooling; 0 means that it is healthy. */
  readonly health: (
    provider: string,
    model: string,
  ) => { readonly coolingUntil: number; readonly code?: ModelErrorCode };
  readonly maxRunningThreads: number;
  /** Revision of the agents and rules. */
  readonly revision: string;
  /** Revision to which the team's sessions migrate before their next run; null: each keeps its own. */
  readonly follows: string | null;
  /** The known grants of the tenant's agents. */
  readonly grants: readonly Grant[];
  /** Reads stored rows of called threads, one or a caller's newest, without what this draft writes. */
  readonly children: {
    readonly record: (id: string) => ChildRecord | null;
    readonly of: (caller: string) => readonly ChildRecord[];
  };
  /** Reads a stored input, without what this draft writes; null if unknown. */
  readonly input: (id: string) => Input | null;
  /** Reads so many of the newest episodes of a run, oldest first, without what this draft adds. */
  readonly episodes: (run: string, most: number) => readonly Episode[];
  /** Reads stored entries, without what this draft writes. */
  readonly entries: EntryReader;
  /** Describes the failure of a run to its caller. */
  readonly problemOf: (reason: EndReason, error: string | null) => RunProblem;
}

/** Full text from which a tool result was cut. */
export interface StoredBlob {
  readonly id: string;
  readonly text: string;
}

interface RetiredMessage {
  readonly thread: string;
  readonly message: Message;
  /** The edit that took it out of the view. */
  readonly edit: number;
  readonly cause: Cause;
}

/** Messages of a thread that come back into its view by an edit: each with the edit that had taken it out. */
interface RestoredMessages {
  readonly thread: string;
  readonly edit: number;
  readonly messages: readonly (readonly [pos: number, gone: number])[];
}

/** What an effect, a guard or middleware threw; `hook` is its kind. */
export interface ThrownByHook {
  readonly thread: string;
  readonly run: string | undefined;
  readonly hook: string;
  readonly error: unknown;
}

/** The stored answer of a command that came with a key. */
export interface StoredAnswer {
  readonly key: string;
  readonly fingerprint: string;
  readonly status: 200 | 201 | 202 | 204;
  readonly json: string;
  readonly at: number;
}

/** A draft owns this copy of an entity; its fields change in place, and what they hold is replaced. */
type Editable<T> = { -readonly [field in keyof T]: T[field] };

export type DraftCall = Editable<Call>;

export interface DraftRun extends Editable<Omit<Run, "counters" | "phase">> {
  counters: Editable<RunCounters>;
  phase: Exclude<Phase, { at: "acting" }> | { readonly at: "acting"; readonly calls: readonly DraftCall[] };
}

export interface DraftThread extends Editable<Omit<Thread, "run">> {
  run: DraftRun | null;
}

export interface DraftSession extends Editable<Omit<Session, "threads">> {
  readonly threads: Record<string, DraftThread>;
}

/** What one commit stores: transitions change `state` in place and push rows. Nothing else sees it before the commit. */
export interface Draft {
  readonly state: DraftSession;
  /** Whether the commit may wait for the next one if it has no rows: a crash would redo it without loss. */
  readonly commit: { mayWait: boolean };
  readonly context: TransactionContext;
  readonly events: SessionEvent[];
  readonly ledger: LedgerRow[];
  readonly edits: EditRow[];
  readonly runs: RunRecord[];
  /** If a thread has several rows, the last one holds. */
  readonly children: ChildRecord[];
  /** Inputs that left the inbox or changed in it. */
  readonly inputs: Input[];
  readonly asks: Ask[];
  readonly blobs: StoredBlob[];
  readonly answers: StoredAnswer[];
  /** Messages that left the chat and may never have been stored: they stay readable. */
  readonly retired: RetiredMessage[];
  readonly restored: RestoredMessages[];
  /** Threads that leave the live state, in their last form. */
  readonly left: Thread[];
  /** If a key has several entries, the last one holds. */
  readonly entries: EntryChange[];
  /** What hooks threw: it is logged and not stored. */
  readonly thrown: ThrownByHook[];
}

/** A draft with one of its threads at hand, which transitions of a thread take: its run and agent are found by it. */
export interface ThreadDraft extends Draft {
  readonly thread: DraftThread;
}

const copyPhase = (phase: Phase): DraftRun["phase"] =>
  phase.at === "acting" ? { at: "acting", calls: phase.calls.map((call) => ({ ...call })) } : phase;

const copyRun = (run: Run | null): DraftRun | null =>
  run && { ...run, counters: { ...run.counters }, phase: copyPhase(run.phase) };

const copyThread = (thread: Thread): DraftThread => ({ ...thread, run: copyRun(thread.run) });

const copySession = (session: Session): DraftSession => {
  const threads: Record<string, DraftThread> = {};
  for (const id in session.threads) {
    const thread = session.threads[id];
    if (thread !== undefined) threads[id] = copyThread(thread);
  }
  return { ...session, threads };
};

/** Creates a draft with copies of the session, its threads, their runs and calls, which are its entities. */
export const createDraft = (state: Session, context: TransactionContext): Draft => ({
  state: copySession(state),
  commit: { mayWait: false },
  context,
  events: [],
  ledger: [],
  edits: [],
  runs: [],
  children: [],
  inputs: [],
  asks: [],
  blobs: [],
  answers: [],
  retired: [],
  restored: [],
  left: [],
  entries: [],
  thrown: [],
});

/** Sets several fields of an entity at once. */
export const assign = <T extends object>(entity: T, change: Partial<T>): void => {
  Object.assign(entity, change);
};

/** Returns a thread of the draft, which changes in place. */
export const threadOf = (draft: Draft, id: string): DraftThread => {
  const thread = draft.state.threads[id];
  if (thread === undefined) throw new Error(`unknown thread ${id}`);
  return thread;
};

/** Returns the draft with another of its threads at hand. */
export const selectThread = (draft: Draft, id: string): ThreadDraft => ({
  ...draft,
  thread: threadOf(draft, id),
});

/** Returns the draft with the thread that called this one at hand; null if there is none any more. */
export const selectCaller = (draft: ThreadDraft): ThreadDraft | null => {
  const thread = draft.state.threads[draft.thread.parent?.thread ?? ""];
  return thread === undefined ? null : { ...draft, thread };
};

export const agentOf = ({ context, thread }: ThreadDraft): Agent => context.agents(thread);

/** Changes a called thread's own facts; nothing happens if it is `main`. */
export const changeChild = ({ thread }: ThreadDraft, change: Partial<Child>): void => {
  if (thread.child !== null) thread.child = { ...thread.child, ...change };
};

/** Returns the session's `seq` once the draft is stored. */
export const headAfter = (draft: Draft): number => draft.state.head + draft.events.length;

/** Returns the active run of the thread; transitions that need one are called only while there is one. */
export const runOf = ({ thread: { id, run } }: Pick<ThreadDraft, "thread">): DraftRun => {
  if (run === null) throw new Error(`thread ${id} has no run`);
  return run;
};

/** Returns the calls of a run of the draft, which change in place; none if it is not acting. */
export const draftCallsOf = (run: DraftRun | null): readonly DraftCall[] =>
  run?.phase.at === "acting" ? run.phase.calls : [];

/** Records that a notice is given in a run or in the session; returns false if it was given there before. */
export const giveNotice = (to: Pick<DraftRun | DraftSession, "said">, notice: Notice): boolean => {
  if (to.said.includes(notice)) return false;
  to.said = [...to.said, notice];
  return true;
};

/** Numbers an edit of a view. */
export const takeEditNumber = (draft: Draft): number => {
  const edit = draft.state.nextEdit;
  draft.state.nextEdit += 1;
  draft.edits.push({ after: headAfter(draft), edit });
  return edit;
};

/** Logs the states of effects that last beyond a run: a rewind or a fork returns to them. */
export const recordEffects = (
  draft: ThreadDraft,
  states: NonNullable<EditRow["effects"]>["states"],
): void => {
  draft.edits.push({
    after: headAfter(draft),
    edit: draft.state.nextEdit - 1,
    effects: { thread: draft.thread.id, states },
  });
};

/** Takes messages out of the view by one edit, so that the view before it can be rebuilt. */
export const retireMessages = (
  draft: ThreadDraft,
  messages: readonly Message[],
  { effect = null, reason }: Pick<Cause, "reason"> & Partial<Pick<Cause, "effect">>,
): void => {
  const { id: thread, run } = draft.thread;
  const edit = takeEditNumber(draft);
  const cause = { run: run?.id ?? null, turn: run?.turn ?? null, effect, reason };
  for (const message of messages) draft.retired.push({ thread, message, edit, cause });
};

/** Stores a text for `recall` and returns its id. */
export const keepForRecall = (draft: Draft, text: string): string => {
  const id = `b${draft.state.nextBlob}`;
  draft.state.nextBlob += 1;
  draft.blobs.push({ id, text });
  return id;
};

interface EventScope {
  readonly call?: string;
  readonly item?: string;
  readonly attempt?: number;
  /** Turn of the event; by default the newest turn of the run. */
  readonly turn?: number;
}

/** Fields of an event in output order, filled in one by one, since a dozen events are made each turn. */
interface EventFields {
  readonly type: EventType;
  readonly thread: string;
  readonly agent: { readonly name: string; readonly prefix: string };
  run?: string;
  turn?: number;
  attempt?: number;
  call?: string;
  item?: string;
  node?: string;
  data?: unknown;
}

const setEventFields = (
  event: EventFields,
  run: Run | null,
  { attempt, call, item, turn = run?.turn ?? 0 }: EventScope,
): void => {
  if (run !== null) event.run = run.id;
  // Events of a plan belong before the first turn.
  if (turn > 0 || hasPlanned(run)) event.turn = turn;
  if (attempt !== undefined) event.attempt = attempt;
  if (call !== undefined) event.call = call;
  if (item !== undefined) event.item = item;
};

/** Adds an event of a thread to the draft; run and turn come from its active run. */
export const emit = <T extends EventType>(
  draft: ThreadDraft,
  type: T,
  data: DataOf<T>,
  place: EventScope = {},
): void => {
  const { id, run, child, agent: name } = draft.thread;
  const event: EventFields = { type, thread: id, agent: { name, prefix: agentOf(draft).prefix } };
  setEventFields(event, run, place);
  if (child?.node != null) event.node = child.node.task;
  event.data = data;
  draft.events.push(event as unknown as SessionEvent);
};

/** Fields of a message that its author supplies. */
export type NewMessage = Omit<Message, "id" | "pos" | "at" | "tokens" | "run" | "turn">;

/** Returns the id of the next message of a thread. */
export const nextMessageId = ({ id, nextPos }: Pick<Thread, "id" | "nextPos">): string =>
  `msg_${id}_${nextPos}`;

/** Gives a new message of a thread its number, time and token count; the message is not in the chat yet. */
export const createMessage = ({ context, thread }: ThreadDraft, message: NewMessage): Message => ({
  id: nextMessageId(thread),
  pos: thread.nextPos,
  at: context.now,
  tokens: context.estimate(message.parts),
  ...message,
  ...(thread.run === null ? {} : { run: thread.run.id, turn: thread.run.turn }),
});

const putMessage = (draft: ThreadDraft, message: NewMessage): Message => {
  const { thread } = draft;
  const stored = createMessage(draft, message);
  thread.chat = [...thread.chat, stored];
  thread.tokens += stored.tokens;
  thread.nextPos += 1;
  return stored;
};

/** Appends a message to a thread's chat and reports it by an event. */
export const appendMessage = (draft: ThreadDraft, message: NewMessage, final = false): Message => {
  const stored = putMessage(draft, message);
  emit(draft, "message_added", { message: stored, final });
  return stored;
};

/** Appends a result whose output `tool_call_end` has brought: its event names only the call. */
export const appendResult = (
  draft: ThreadDraft,
  result: ToolResultPart,
  marks: Pick<Message, "marks">,
): void => {
  const stored = putMessage(draft, { role: "tool", origin: "agent", parts: [result], ...marks });
  emit(draft, "message_added", { message: reportWithoutOutput(stored), final: false });
};

/** Appends a note of the system for the model. */
export const appendNote = (draft: ThreadDraft, text: string, sender = "runtime"): void => {
  const parts = [{ type: "text", text: cleanText(text) }] as const;
  appendMessage(draft, { role: "user", origin: "system", sender, marks: ["note"], parts });
};

/** Runs code of an effect, a guard or middleware; what it throws is logged with the commit. */
export const runHook = <T>(draft: ThreadDraft, hook: string, act: () => T): Outcome<T> => {
  const outcome = catchThrown(act);
  const { id: thread, run } = draft.thread;
  if ("thrown" in outcome) draft.thrown.push({ thread, run: run?.id, hook, error: outcome.error });
  return outcome;
};
