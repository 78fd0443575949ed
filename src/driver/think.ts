import { allowedOutput, estimateCost } from "../agent/budgets/reserve.ts";
import { validGrants } from "../agent/calls/judge.ts";
import { modelOverrideFor, buildTurnRequest, createContextSnapshot } from "../agent/context/request.ts";
import type { Agent, ModelTarget } from "../agent/definition/agent.ts";
import type { Delta, DeltaKind } from "../agent/state/delta.ts";
import type { LedgerRow, ContextSnapshot } from "../agent/state/records.ts";
import type { Phase, Run } from "../agent/state/run.ts";
import { ticketId, purposeOf } from "../agent/state/run.ts";
import type { Session } from "../agent/state/session.ts";
import type { Thread } from "../agent/state/thread.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import { emit, runOf } from "../agent/transaction/draft.ts";
import { requestTokens } from "../agent/transaction/estimate.ts";
import { failAttempt, pauseAttemptForTicket, handleUncoveredAttempt } from "../agent/turn/attempts.ts";
import { applyReply } from "../agent/turn/replies.ts";
import type { OpenedItem } from "../agent/turn/turns.ts";
import { attemptId, itemId, openItems } from "../agent/turn/turns.ts";
import type { Part } from "../chat/message.ts";
import { preview } from "../chat/text.ts";
import { buildView } from "../chat/view.ts";
import type { Completion, ItemDelta, ModelRequest } from "../model/completer.ts";
import type { ModelFailure } from "../model/error.ts";
import type { Host } from "./host.ts";
import { ensureLease } from "./lease.ts";
import type { ModelCall, ModelCallOutcome } from "./model-call.ts";
import { runModelCall, requestTicket } from "./model-call.ts";
import type { WorkContext } from "./work.ts";

/** This file makes one model attempt, from the stored intent to the stored outcome. */

type AttemptPhase = Extract<Phase, { at: "thinking" }>;

interface ModelAttempt {
  readonly thread: Thread;
  readonly run: Run;
  readonly phase: AttemptPhase;
  readonly agent: Agent;
  readonly lane: ModelTarget;
}

const findAttempt = ({ host }: WorkContext, threadId: string): ModelAttempt | null => {
  const thread = host.read().threads[threadId];
  if (thread?.run?.phase.at !== "thinking") return null;
  const { run } = thread;
  const phase = thread.run.phase;
  const agent = host.agent(threadId);
  const target = agent.lanes[phase.lanes.current];
  return target === undefined ? null : { thread, run, phase, agent, lane: target };
};

/** Returns whether the attempt is still the current one; outcomes of any other are late and change nothing. */
const isAttemptCurrent = (session: Session, { thread, run, phase }: ModelAttempt): boolean => {
  const now = session.threads[thread.id]?.run;
  if (now?.phase.at !== "thinking") return false;
  return attemptId(now, now.phase.attempt) === attemptId(run, phase.attempt);
};

const requestOf = (
  { host }: WorkContext,
  { thread, run, phase, agent, lane }: ModelAttempt,
  messages: ModelRequest["messages"],
  maxTokens: number,
): ModelRequest =>
  buildTurnRequest({
    agent,
    lane,
    depth: thread.depth,
    light: run.light,
    hidden: run.hidden,
    schema: run.outputSchema,
    previous: thread.previousNewest,
    messages,
    maxTokens,
    media: (blob) => host.media(blob),
    context: {
      session: host.read().id,
      agent: agent.name,
      thread: thread.id,
      run: run.id,
      turn: run.turn,
      call: thread.calls,
      attempt: phase.attempt,
      purpose: purposeOf(run),
      ...(thread.chat.length === thread.nextPos ? {} : { partial: true }),
    },
  });

/** Returns whether the tenant's day pays for the attempt; if not, the attempt waits or its run ends. */
const ensureAttemptCovered = async (work: WorkContext, attempt: ModelAttempt): Promise<boolean> => {
  const { thread, run, agent, lane } = attempt;
  const estimate = estimateCost(lane, requestTokens(agent, thread, run));
  const how = await ensureLease(work, thread.id, estimate, (session) => isAttemptCurrent(session, attempt));
  if (how === "covered" || how === "late") return how === "covered";
  work.settle((draft) => {
    if (isAttemptCurrent(draft.state, attempt)) handleUncoveredAttempt(draft, thread.id, how);
  });
  return false;
};

/** Takes the attempt's ticket at the gate; returns false if the attempt has to wait for it or gets none. */
const obtainTicket = async (work: WorkContext, attempt: ModelAttempt, call: ModelCall): Promise<boolean> => {
  const placed = await requestTicket(work, call);
  if (placed.is === "free" || placed.is === "late") return placed.is === "free";
  work.settle((draft) => {
    if (!isAttemptCurrent(draft.state, attempt)) return;
    if (placed.is === "failed") failAttempt(draft, attempt.thread.id, placed.failure);
    else pauseAttemptForTicket(draft, attempt.thread.id, placed.until, placed.booked);
  });
  return false;
};

type AttemptResult = ReturnType<typeof failAttempt>;

const storeReply = (
  { host, settle }: WorkContext,
  attempt: ModelAttempt,
  reply: Completion,
  saw: ContextSnapshot,
): void => {
  const { thread, run, phase } = attempt;
  settle((draft) => {
    if (isAttemptCurrent(draft.state, attempt)) applyReply(draft, thread.id, reply, saw);
    else host.late({ thread: thread.id, run: run.id, step: attemptId(run, phase.attempt), code: "ok" });
  });
};

/** Returns the digest of the body that a failed attempt sent, or null if the provider cannot build it again. */
const hashSentBody = ({ completer }: ModelTarget, request: ModelRequest): string | null => {
  try {
    return completer.digest?.(request) ?? null;
  } catch {
    return null;
  }
};

/** Stores a failure and returns whether its model target was given up. */
const storeFailure = (
  { host, settle }: WorkContext,
  attempt: ModelAttempt,
  failure: ModelFailure,
  saw: () => Pick<LedgerRow, "saw">,
): AttemptResult => {
  let stored: AttemptResult = { exhausted: false };
  const seen = isAttemptCurrent(host.read(), attempt) ? saw() : {};
  settle((draft) => {
    if (isAttemptCurrent(draft.state, attempt)) stored = failAttempt(draft, attempt.thread.id, failure, seen);
  });
  return stored;
};

const failBrokenHistory = (draft: Draft, threadId: string): void => {
  const run = runOf(draft, threadId);
  run.phase = { at: "ready" };
  run.stop = { reason: "internal", error: "the history could not be made valid" };
};

/** Limits the repairs that one event names. */
const mostNamed = 20;

/** Returns the thread's messages as a provider may see them; repairs are reported once in each run. */
const prepareMessages = ({ settle }: WorkContext, attempt: ModelAttempt): ModelRequest["messages"] | null => {
  const { thread, run } = attempt;
  const { messages, repairs } = buildView(thread.chat, thread.firstInput);
  if (messages.length === 0) {
    settle((draft) => failBrokenHistory(draft, thread.id));
    return null;
  }
  const beginsRun = run.turn === 1 && !run.repair;
  const news = repairs.filter(({ pos }) => beginsRun || pos > thread.seen);
  if (news.length > 0 && attempt.phase.attempt === 1) {
    const named = news.slice(0, mostNamed).map(({ kind, message }) => `${kind} at ${message}`);
    const what = [...named, ...(news.length > mostNamed ? [`${news.length - mostNamed} more`] : [])].join(
      ", ",
    );
    settle((draft) => {
      if (draft.state.threads[thread.id]?.run != null)
        emit(draft, thread.id, "error", { code: "history_repaired", message: what, retryable: true });
    });
  }
  return messages;
};

const leastOutput = 1_024;

/** Returns the output tokens that the budget and the window leave, or null if the window leaves too few. */
const outputLimitFor = (
  work: WorkContext,
  { thread, run, phase, agent, lane }: ModelAttempt,
): number | null => {
  const { output } = findAttempt(work, thread.id)?.phase.hold ?? phase.hold;
  const room = allowedOutput(lane, requestTokens(agent, thread, run), Infinity);
  return room < leastOutput ? null : Math.min(output, room);
};

const overflowFailure = ({ lane }: ModelAttempt): ModelFailure => ({
  code: "context_overflow",
  retryable: false,
  provider: lane.provider,
  model: lane.model,
  message: `the history does not fit the model's context window of ${lane.window} tokens`,
});

/** Makes the attempt that the state asks for, and stores its outcome unless it comes too late. */
export const runModelAttempt = async (work: WorkContext, threadId: string): Promise<void> => {
  const attempt = findAttempt(work, threadId);
  if (attempt === null) return;
  const { thread, run, phase, agent, lane } = attempt;
  const session = work.host.read();
  const from = { edit: session.nextEdit - 1, override: modelOverrideFor(session, thread) };
  const snapshot = createContextSnapshot(agent, thread, run, { ...from, held: phase.hold.output });
  const call: ModelCall = {
    id: ticketId(session.id, threadId, attemptId(run, phase.attempt)),
    lane,
    booked: phase.booked,
    input: requestTokens(agent, thread, run),
    output: phase.hold.output,
  };
  const messages = prepareMessages(work, attempt);
  if (
    messages === null ||
    !(await ensureAttemptCovered(work, attempt)) ||
    !(await obtainTicket(work, attempt, call))
  )
    return;
  const maxTokens = outputLimitFor(work, attempt);
  if (maxTokens === null) {
    work.settle((draft) => {
      if (isAttemptCurrent(draft.state, attempt)) failAttempt(draft, threadId, overflowFailure(attempt));
    });
    return;
  }
  const stream = openStream(work.host, threadId, run, phase.attempt);
  const request = (): ModelRequest => requestOf(work, attempt, messages, maxTokens);
  const saw = { ...snapshot, max_tokens: maxTokens };
  const stored = async (outcome: ModelCallOutcome): Promise<AttemptResult> => {
    stream.close();
    if (!outcome.ok) {
      const { failure, known } = outcome;
      return storeFailure(work, attempt, failure, () =>
        known ? { saw: { ...saw, hash: hashSentBody(lane, request()) } } : {},
      );
    }
    const { reply } = outcome;
    await refreshGrants(work.host, agent, thread, reply.parts);
    storeReply(work, attempt, reply, saw);
    return { exhausted: false };
  };
  await runModelCall(work, call, request, stored, { onDelta: stream.take });
};

/** Sends the live text of one attempt to the watchers: it merges many provider reads into one frame per item. */
interface ItemStream {
  readonly take: (deltas: readonly ItemDelta[]) => void;
  /** Drops what was not sent, because the event that follows holds the whole text. */
  readonly close: () => void;
}

interface StreamItem {
  readonly id: string;
  readonly kind: ItemDelta["kind"];
  readonly call: { readonly id: string; readonly name: string } | null;
  text: string;
  sent: number;
  opened: boolean;
}

/** Sets the milliseconds between frames: an item's first piece leaves at once, and later pieces are gathered. */
const frameMs = 16;

const deltaKinds: Record<ItemDelta["kind"], DeltaKind> = {
  text: "text_delta",
  reasoning: "reasoning_delta",
  tool_input: "tool_input_delta",
};

/** Adds a piece to its item; returns true if it is the item's first. */
const addPiece = (items: Map<number, StreamItem>, run: Run, attempt: number, delta: ItemDelta): boolean => {
  const { index, kind, data, call } = delta;
  const known = items.get(index);
  if (known !== undefined) known.text += data;
  else
    items.set(index, {
      id: itemId(run, attempt, index),
      kind,
      call: call ?? null,
      text: data,
      sent: 0,
      opened: false,
    });
  return known === undefined;
};

const toOpenedItem = ({ id, kind, call, text }: StreamItem): OpenedItem => ({
  id,
  kind,
  call,
  preview: kind === "tool_input" ? "" : preview(text),
});

export const openStream = (host: Host, threadId: string, run: Run, attempt: number): ItemStream => {
  const items = new Map<number, StreamItem>();
  let timer: { cancel(): void } | null = null;
  let shownAt = Number.NEGATIVE_INFINITY;
  let closed = false;

  const openNew = (): void => {
    const fresh = [...items.values()].filter(({ opened }) => !opened);
    if (fresh.length === 0) return;
    for (const item of fresh) item.opened = true;
    host.update((draft) => {
      const now = draft.state.threads[threadId]?.run;
      if (now?.phase.at !== "thinking") return;
      if (attemptId(now, now.phase.attempt) === attemptId(run, attempt))
        openItems(draft, threadId, fresh.map(toOpenedItem));
    });
  };

  const unsent = (item: StreamItem): readonly Delta[] => {
    const { id, kind, text, sent } = item;
    if (sent === text.length) return [];
    item.sent = text.length;
    host.itemGrew({ id, thread: threadId, kind, attempt, text });
    const data = text.slice(sent);
    return [{ type: "delta", kind: deltaKinds[kind], thread: threadId, item: id, attempt, off: sent, data }];
  };

  const flush = (): void => {
    timer = null;
    if (closed) return;
    shownAt = host.now();
    openNew();
    host.show([...items.values()].flatMap(unsent));
  };

  const showAfter = (ms: number): void => {
    timer?.cancel();
    timer = host.after(ms, flush);
  };

  return {
    take: (deltas) => {
      if (closed) return;
      const hasNew = deltas.map((delta) => addPiece(items, run, attempt, delta)).includes(true);
      if (hasNew) showAfter(0);
      else if (timer === null) showAfter(Math.max(0, shownAt + frameMs - host.now()));
    },
    close: () => {
      closed = true;
      timer?.cancel();
      host.itemsClosed([...items.values()].map(({ id }) => id));
    },
  };
};

/** Reads the team's grants before a call asks a person or uses a grant, because they also change elsewhere. */
const refreshGrants = async (
  host: Host,
  agent: Agent,
  { depth }: Thread,
  parts: readonly Part[],
): Promise<void> => {
  const calls = parts.filter((part) => part.type === "tool_call");
  if (calls.length === 0) return;
  const grants = validGrants(host.read().grants, host.grants.known(), host.now());
  const matters = calls.some((call) => {
    const { verdict, by } = agent.judge(call, grants, depth);
    return verdict === "ask" || by.startsWith("grant ");
  });
  if (matters) await host.grants.look();
};
