import { allowedOutput, estimateCost } from "../agent/budgets/bounds.ts";
import { createThreadJudge } from "../agent/calls/grants.ts";
import {
  buildTurnRequest,
  createContextSnapshot,
  originOf,
  refusedBeforeOf,
} from "../agent/context/request.ts";
import type { Agent, ModelTarget } from "../agent/definition/agent.ts";
import type { ModelCall } from "../agent/state/phase.ts";
import { attemptId } from "../agent/state/phase.ts";
import type { ContextSnapshot } from "../agent/state/records.ts";
import type { Run } from "../agent/state/run.ts";
import type { Thread } from "../agent/state/thread.ts";
import type { ThreadDraft } from "../agent/transaction/draft.ts";
import { emit, runOf, selectThread } from "../agent/transaction/draft.ts";
import type { ThinkingPhase } from "../agent/transaction/next-request.ts";
import { failAttempt, handleUncoveredAttempt, itemId, openItems } from "../agent/turn/attempts.ts";
import { applyReply } from "../agent/turn/replies.ts";
import type { Part } from "../chat/message.ts";
import { buildView } from "../chat/view.ts";
import type { ModelRequest, CompleteOptions, ItemDelta } from "../model/completer.ts";
import type { ModelFailure } from "../model/error.ts";
import type { Host, WorkContext } from "./host.ts";
import { makeModelCall } from "./model-call.ts";
import type { Delta } from "../agent/state/events.ts";
import type { OpenedItem } from "../agent/turn/attempts.ts";
import { preview } from "../chat/text.ts";

/** Makes one model attempt, from the stored intent to the stored outcome. */

interface ModelAttempt {
  readonly thread: Thread;
  readonly run: Run;
  readonly phase: ThinkingPhase;
  readonly agent: Agent;
  readonly target: ModelTarget;
}

const findAttempt = ({ host }: WorkContext, threadId: string): ModelAttempt | null => {
  const thread = host.read().threads[threadId];
  if (thread?.run?.phase.at !== "thinking") return null;
  const { run } = thread;
  const phase = thread.run.phase;
  const agent = host.agent(threadId);
  const target = agent.targets[phase.chain.current];
  return target === undefined ? null : { thread, run, phase, agent, target };
};

/** Returns whether the session may have calls that this thread's view lacks. */
const isPartialView = ({ id, chat, nextPos }: Thread): boolean => id !== "main" || chat.length !== nextPos;

const requestOf = (
  { host }: WorkContext,
  { thread, run, agent, target }: ModelAttempt,
  messages: ModelRequest["messages"],
  call: ModelCall,
): ModelRequest =>
  buildTurnRequest({
    agent,
    target,
    depth: thread.depth,
    light: run.light,
    hidden: run.hidden,
    schema: run.outputSchema,
    previous: thread.previousNewest,
    refusedBefore: refusedBeforeOf(thread, target),
    messages,
    input: call.input,
    maxTokens: allowedOutput(target, call.input, call.reservation.output),
    media: (blob) => host.media(blob),
    context: {
      ...originOf(host.read(), agent, thread, run, call),
      ...(isPartialView(thread) ? { partial: true } : {}),
    },
  });

/** Returns the digest of the body that a failed attempt sent, or null if the provider cannot build it again. */
const hashSentBody = ({ completer }: ModelTarget, request: ModelRequest): string | null => {
  try {
    return completer.digest?.(request) ?? null;
  } catch {
    return null;
  }
};

const failBrokenHistory = (draft: ThreadDraft): void => {
  const run = runOf(draft);
  run.phase = { at: "ready" };
  run.stop = { reason: "internal", error: "the history could not be made valid" };
};

/** Number of repairs that one event names. */
const mostNamed = 20;

/** Returns the thread's messages as a provider may see them; repairs are reported once in each run. */
const prepareMessages = ({ settle }: WorkContext, attempt: ModelAttempt): ModelRequest["messages"] | null => {
  const { thread, run } = attempt;
  const { messages, repairs } = buildView(thread.chat, thread.firstInput);
  if (messages.length === 0) {
    settle((draft) => failBrokenHistory(selectThread(draft, thread.id)));
    return null;
  }
  const beginsRun = run.turn === (run.plan === null ? 1 : 0) && !run.repair;
  const news = repairs.filter(({ pos }) => beginsRun || pos > thread.seen);
  if (news.length > 0 && attempt.phase.call.attempt === 1) {
    const named = news.slice(0, mostNamed).map(({ kind, message }) => `${kind} at ${message}`);
    const what = [...named, ...(news.length > mostNamed ? [`${news.length - mostNamed} more`] : [])].join(
      ", ",
    );
    settle((draft) => {
      if (draft.state.threads[thread.id]?.run != null)
        emit(selectThread(draft, thread.id), "error", {
          code: "history_repaired",
          message: what,
          retryable: true,
        });
    });
  }
  return messages;
};

/** A reply of fewer tokens than this is not worth a request that fills the window. */
const leastOutput = 1_024;

const overflowFailure = ({ provider, model, window }: ModelTarget): ModelFailure => ({
  code: "context_overflow",
  retryable: false,
  provider,
  model,
  message: `the history does not fit the model's context window of ${window} tokens`,
});

/** Makes the attempt that the state asks for, and stores its outcome unless it comes too late. */
export const runModelAttempt = async (work: WorkContext, threadId: string): Promise<void> => {
  const attempt = findAttempt(work, threadId);
  if (attempt === null) return;
  const { thread, run, phase, agent, target } = attempt;
  const { host, settle } = work;
  const messages = prepareMessages(work, attempt);
  if (messages === null) return;
  if (allowedOutput(target, phase.call.input, Infinity) < leastOutput)
    return settle((draft) => void failAttempt(selectThread(draft, threadId), overflowFailure(target)));
  const stream = openLiveText(host, threadId, run, phase.call.attempt);
  const sawOf = (call: ModelCall): ContextSnapshot =>
    createContextSnapshot(agent, thread, run, { from: phase.from, call });
  await makeModelCall(work, {
    thread: threadId,
    target,
    estimate: estimateCost(target, phase.call.input),
    request: (call) => requestOf(work, attempt, messages, call),
    onDelta: stream.take,
    ended: async (outcome) => {
      stream.close();
      if (outcome.ok) await refreshGrants(host, agent, thread, outcome.reply.parts);
    },
    uncovered: (draft, call, how) => handleUncoveredAttempt(draft, call, how),
    fail: (draft, call, failure, sent) => {
      const hash = sent === null ? null : hashSentBody(target, sent());
      return failAttempt(draft, failure, sent === null ? {} : { saw: { ...sawOf(call), hash } });
    },
    reply: (draft, call, reply) => applyReply(draft, reply, sawOf(call)),
    late: () =>
      host.late({ thread: threadId, run: run.id, step: attemptId(run, phase.call.attempt), code: "ok" }),
  });
};

/** Reads the tenant's grants again before a call asks a person or uses a grant, because they also change elsewhere. */
const refreshGrants = async (
  host: Host,
  agent: Agent,
  { id }: Thread,
  parts: readonly Part[],
): Promise<void> => {
  const calls = parts.filter((part) => part.type === "tool_call");
  if (calls.length === 0) return;
  const judge = createThreadJudge(host.read(), id, agent, { grants: host.grants.known(), now: host.now() });
  const matters = calls.some((call) => {
    const { verdict, by } = judge(call);
    return verdict === "ask" || by.startsWith("grant ");
  });
  if (matters) await host.grants.refresh();
};

/** Turns pieces of a reply into deltas for watchers as they arrive. */

/** Sends the live text of one attempt to the watchers: it merges many provider reads into one frame per item. */
interface ItemStream {
  readonly take: NonNullable<CompleteOptions["onDelta"]>;
  /** Drops unsent pieces, because the event that follows holds the whole text. */
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

/**
 * Milliseconds between frames: an item's first piece is sent at once, and later pieces are gathered.
 * Including the time to read and a timer, each piece is at the socket 15 ms after it arrived.
 */
const frameMs = 13;

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

/** Runs work while a reply is read; a commit that fails is not the model's fault. */
const runForSession = (host: Host, work: () => void): void => {
  try {
    work();
  } catch (error) {
    host.failed(error);
  }
};

export const openLiveText = (host: Host, threadId: string, run: Run, attempt: number): ItemStream => {
  const items = new Map<number, StreamItem>();
  let timer: { cancel(): void } | null = null;
  /** When the next frame is due: a timer that fires late does not delay the frames after it. */
  let dueAt = Number.NEGATIVE_INFINITY;
  let closed = false;

  const openNew = (): void => {
    const fresh = [...items.values()].filter(({ opened }) => !opened);
    if (fresh.length === 0) return;
    for (const item of fresh) item.opened = true;
    host.update((draft) => {
      const now = draft.state.threads[threadId]?.run;
      if (now?.phase.at !== "thinking") return;
      if (attemptId(now, now.phase.call.attempt) === attemptId(run, attempt))
        openItems(selectThread(draft, threadId), fresh.map(toOpenedItem));
    });
  };

  const unsent = (item: StreamItem): readonly Delta[] => {
    const { id, kind, text, sent } = item;
    if (sent === text.length) return [];
    item.sent = text.length;
    host.itemGrew({ id, thread: threadId, kind, attempt, text });
    const data = text.slice(sent);
    return [{ type: "delta", kind: `${kind}_delta`, thread: threadId, item: id, attempt, off: sent, data }];
  };

  const flush = (): void => {
    timer = null;
    if (closed) return;
    const now = host.now();
    dueAt = (now >= dueAt && now < dueAt + frameMs ? dueAt : now) + frameMs;
    openNew();
    host.show([...items.values()].flatMap(unsent));
  };

  return {
    take: (deltas, isWhole) => {
      if (closed) return;
      const hasNew = deltas.map((delta) => addPiece(items, run, attempt, delta)).includes(true);
      // A reply that is already complete is shown by its event just as soon.
      if (hasNew && !isWhole) {
        timer?.cancel();
        runForSession(host, flush);
      } else timer ??= host.after(Math.max(0, dueAt - host.now()), flush);
    },
    close: () => {
      closed = true;
      timer?.cancel();
      host.itemsClosed([...items.values()].map(({ id }) => id));
    },
  };
};
