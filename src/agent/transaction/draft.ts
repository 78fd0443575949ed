import type { Cause, Message, Part } from "../../chat/message.ts";
import type { ModelErrorCode } from "../../model/error.ts";
import type { Agent, AgentResolver } from "../definition/agent.ts";
import type { BriefingRules } from "../definition/memory.ts";
import type { Ask } from "../state/ask.ts";
import type { TeamBudgets } from "../state/budget.ts";
import type { Call } from "../state/call.ts";
import type { ChildRecord } from "../state/child.ts";
import type { ItemKind } from "../state/delta.ts";
import type { EntryChange, EntryReader, StoreRules } from "../state/entries.ts";
import type { DataOf, EventType, SessionEvent } from "../state/events.ts";
import type { Input } from "../state/input.ts";
import type { LedgerRow, RunRecord } from "../state/records.ts";
import type { Run } from "../state/run.ts";
import { callsOfRun } from "../state/run.ts";
import type { Grant, Session } from "../state/session.ts";
import type { Thread } from "../state/thread.ts";

/** Time, randomness and live text, handed to a transition so that it stays a pure function. */
export interface TransactionContext {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Number of this isolate; work that an older one began is lost. */
  readonly epoch: number;
  /** 128 random bits in base32. */
  readonly random: () => string;
  /** What an open item has shown so far; null if nothing is known of it. */
  readonly shown: (item: string) => { readonly kind: ItemKind; readonly text: string } | null;
  /** Tokens of a message's parts. */
  readonly estimate: (parts: readonly Part[]) => number;
  readonly agents: AgentResolver;
  /** A number in [0, 1). */
  readonly fraction: () => number;
  /** Until when a lane is cooling, and why; 0 = it is healthy. */
  readonly health: (
    provider: string,
    model: string,
  ) => { readonly coolingUntil: number; readonly code?: ModelErrorCode };
  readonly maxRunningThreads: number;
  /** Grants of the tenant's agents, as far as they are known. */
  readonly grants: readonly Grant[];
  /** Stored rows of called threads: one, and the newest of a caller; without what this draft writes. */
  readonly children: {
    readonly record: (id: string) => ChildRecord | null;
    readonly of: (caller: string) => readonly ChildRecord[];
  };
  /** A stored input, without what this draft writes; null if unknown. */
  readonly input: (id: string) => Input | null;
  /** Stored entries, without what this draft writes. */
  readonly entries: EntryReader;
  readonly storeRules: StoreRules;
  readonly briefing: BriefingRules;
  readonly budgets: TeamBudgets;
}

/** A stored full text that a tool result was cut from. */
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

/** The stored answer of a command that came with a key. */
export interface StoredAnswer {
  readonly key: string;
  readonly fingerprint: string;
  readonly status: 200 | 201 | 202 | 204;
  readonly json: string;
  readonly at: number;
}

/** What one commit stores: the next state, its events, and rows that are not part of the live state. */
export interface Transition {
  readonly state: Session;
  readonly moment: Pick<TransactionContext, "now">;
  readonly events: readonly SessionEvent[];
  readonly ledger: readonly LedgerRow[];
  readonly runs: readonly RunRecord[];
  /** Of one thread the last holds. */
  readonly children: readonly ChildRecord[];
  /** Inputs that left the inbox or changed in it. */
  readonly inputs: readonly Input[];
  readonly asks: readonly Ask[];
  readonly blobs: readonly StoredBlob[];
  readonly answers: readonly StoredAnswer[];
  /** Messages that left the chat and may never have been stored: they stay readable. */
  readonly retired: readonly RetiredMessage[];
  /** Threads that leave the live state, as they were last. */
  readonly left: readonly Thread[];
  /** Of one key the last holds. */
  readonly entries: readonly EntryChange[];
}

/** A transition in the making: transitions replace `state` and push rows; nothing else sees it before the commit. */
export interface Draft {
  state: Session;
  /** Nothing of it is missed after a crash, which asks for it again: it may wait for the next commit, unless there are rows to store. */
  mayWait: boolean;
  readonly moment: TransactionContext;
  readonly events: SessionEvent[];
  readonly ledger: LedgerRow[];
  readonly runs: RunRecord[];
  readonly children: ChildRecord[];
  readonly inputs: Input[];
  readonly asks: Ask[];
  readonly blobs: StoredBlob[];
  readonly answers: StoredAnswer[];
  readonly retired: RetiredMessage[];
  readonly left: Thread[];
  readonly entries: EntryChange[];
}

export const createDraft = (state: Session, context: TransactionContext): Draft => ({
  state,
  mayWait: false,
  moment: context,
  events: [],
  ledger: [],
  runs: [],
  children: [],
  inputs: [],
  asks: [],
  blobs: [],
  answers: [],
  retired: [],
  left: [],
  entries: [],
});

export const threadOf = (draft: Draft, id: string): Thread => {
  const thread = draft.state.threads[id];
  if (thread === undefined) throw new Error(`unknown thread ${id}`);
  return thread;
};

export const agentOf = (draft: Draft, threadId: string): Agent =>
  draft.moment.agents(threadOf(draft, threadId));

const putThread = (draft: Draft, thread: Thread): void => {
  const threads: Record<string, Thread> = { ...draft.state.threads };
  threads[thread.id] = thread;
  draft.state = { ...draft.state, threads };
};

export const changeThread = (draft: Draft, id: string, change: Partial<Thread>): void =>
  putThread(draft, { ...threadOf(draft, id), ...change });

/** The session's `seq` once this draft is stored. */
export const headAfter = (draft: Draft): number => draft.state.head + draft.events.length;

/** The active run of a thread; transitions that need one are asked for only while there is one. */
export const runOf = (draft: Draft, id: string): Run => {
  const { run } = threadOf(draft, id);
  if (run === null) throw new Error(`thread ${id} has no run`);
  return run;
};

export const changeRun = (draft: Draft, id: string, change: Partial<Run>): void =>
  changeThread(draft, id, { run: { ...runOf(draft, id), ...change } });

export const changeCounters = (draft: Draft, id: string, change: Partial<Run["counters"]>): void => {
  const run = runOf(draft, id);
  changeRun(draft, id, { counters: { ...run.counters, ...change } });
};

export const changeCall = (draft: Draft, id: string, callId: string, change: Partial<Call>): void => {
  const calls = callsOfRun(runOf(draft, id)).map((call) =>
    call.call.id === callId ? { ...call, ...change } : call,
  );
  changeRun(draft, id, { phase: { at: "acting", calls } });
};

/** Messages leave the view: one edit, under which the view before it can be told again. */
export const retireMessages = (
  draft: Draft,
  threadId: string,
  messages: readonly Message[],
  { effect = null, reason }: Pick<Cause, "reason"> & Partial<Pick<Cause, "effect">>,
): void => {
  const { run } = threadOf(draft, threadId);
  const edit = draft.state.nextEdit;
  draft.state = { ...draft.state, nextEdit: edit + 1 };
  const cause = { run: run?.id ?? null, turn: run?.turn ?? null, effect, reason };
  for (const message of messages) draft.retired.push({ thread: threadId, message, edit, cause });
};

/** Keeps a text for `recall`; answers its id. */
export const keepForRecall = (draft: Draft, text: string): string => {
  const id = `b${draft.state.nextBlob}`;
  draft.state = { ...draft.state, nextBlob: draft.state.nextBlob + 1 };
  draft.blobs.push({ id, text });
  return id;
};

interface EventScope {
  readonly call?: string;
  readonly item?: string;
  readonly attempt?: number;
}

/** Fields of an event in the order in which they are told; filled in one by one, since a dozen events are made each turn. */
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

const setEventFields = (event: EventFields, run: Run | null, { attempt, call, item }: EventScope): void => {
  if (run !== null) event.run = run.id;
  if (run !== null && run.turn > 0) event.turn = run.turn;
  if (attempt !== undefined) event.attempt = attempt;
  if (call !== undefined) event.call = call;
  if (item !== undefined) event.item = item;
};

/** Adds an event of a thread; run and turn come from its active run. */
export const emit = <T extends EventType>(
  draft: Draft,
  threadId: string,
  type: T,
  data: DataOf<T>,
  place: EventScope = {},
): void => {
  const thread = threadOf(draft, threadId);
  const { run } = thread;
  const agent = { name: thread.agent, prefix: agentOf(draft, threadId).prefix };
  const event: EventFields = { type, thread: threadId, agent };
  setEventFields(event, run, place);
  if (thread.child?.node != null) event.node = thread.child.node.task;
  event.data = data;
  draft.events.push(event as unknown as SessionEvent);
};

/** A message as its author gives it. */
export type NewMessage = Omit<Message, "id" | "pos" | "at" | "tokens" | "run" | "turn">;

/** A new message of a thread, numbered, dated and counted; it is not in the chat yet. */
export const createMessage = (
  { moment }: Draft,
  { id, nextPos, run }: Thread,
  message: NewMessage,
): Message => ({
  id: `msg_${id}_${nextPos}`,
  pos: nextPos,
  at: moment.now,
  tokens: moment.estimate(message.parts),
  ...message,
  ...(run === null ? {} : { run: run.id, turn: run.turn }),
});

/** Appends a message to a thread's chat and says so. */
export const appendMessage = (
  draft: Draft,
  threadId: string,
  message: NewMessage,
  final = false,
): Message => {
  const thread = threadOf(draft, threadId);
  const stored = createMessage(draft, thread, message);
  putThread(draft, {
    ...thread,
    chat: [...thread.chat, stored],
    tokens: thread.tokens + stored.tokens,
    nextPos: thread.nextPos + 1,
  });
  emit(draft, threadId, "message_added", { message: stored, final });
  return stored;
};

/** Appends a note of the system to the model. */
export const appendNote = (draft: Draft, threadId: string, text: string, sender = "runtime"): void => {
  const parts = [{ type: "text", text }] as const;
  appendMessage(draft, threadId, { role: "user", origin: "system", sender, marks: ["note"], parts });
};
