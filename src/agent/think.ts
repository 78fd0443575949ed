import { view } from "../chat/view.ts";
import { sha256Hex } from "../sandbox/sha256.ts";
import type { Completion, ModelRequest } from "../model/completer.ts";
import type { ModelFailure } from "../model/error.ts";
import type { Agent, Lane } from "./agent.ts";
import { attemptFailed, attemptPlaced, attemptUnpaid } from "./attempts.ts";
import { changeRun, emit } from "./draft.ts";
import type { Draft } from "./draft.ts";
import { requestTokens } from "./effects.ts";
import { grantsLooked } from "./grants.ts";
import { drawn } from "./lease.ts";
import { made, placeFor } from "./model-call.ts";
import type { ModelCall, Outcome } from "./model-call.ts";
import type { Outside } from "./outside.ts";
import type { LedgerRow, Sight } from "./records.ts";
import { placeId } from "./place.ts";
import { answered } from "./replies.ts";
import { overrideFor, requestFor, sightOf } from "./request.ts";
import { purposeOf } from "./purpose.ts";
import type { Phase, Run, Session, Thread } from "./state.ts";
import { outputFor, wantedOn } from "./room.ts";
import { openStream } from "./stream.ts";
import { attemptId } from "./turns.ts";

/** One model attempt, from the stored intent to the stored outcome. */

type Thinking = Extract<Phase, { at: "thinking" }>;

interface Attempt {
  readonly thread: Thread;
  readonly run: Run;
  readonly phase: Thinking;
  readonly agent: Agent;
  readonly lane: Lane;
}

const attemptAt = ({ host }: Outside, threadId: string): Attempt | null => {
  const thread = host.read().threads[threadId];
  if (thread?.run?.phase.at !== "thinking") return null;
  const { run } = thread;
  const phase = thread.run.phase;
  const agent = host.agent(threadId);
  const lane = agent.lanes[phase.lanes.current];
  return lane === undefined ? null : { thread, run, phase, agent, lane };
};

/** Outcomes of another run or attempt are late: they change nothing (SE-31, SE-34). */
const isCurrent = (session: Session, { thread, run, phase }: Attempt): boolean => {
  const now = session.threads[thread.id]?.run;
  if (now?.phase.at !== "thinking") return false;
  return attemptId(now, now.phase.attempt) === attemptId(run, phase.attempt);
};

const requestOf = (
  { host }: Outside,
  { thread, run, phase, agent, lane }: Attempt,
  messages: ModelRequest["messages"],
  maxTokens: number,
): ModelRequest =>
  requestFor({
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

/** Whether the tenant's day pays for the attempt; if not, it waits or its run ends (RE-4). */
const isPaid = async (outside: Outside, attempt: Attempt): Promise<boolean> => {
  const { thread, run, agent, lane } = attempt;
  const wanted = wantedOn(lane, requestTokens(agent, thread, run));
  const how = await drawn(outside, thread.id, wanted, (session) => isCurrent(session, attempt));
  if (how === "covered" || how === "late") return how === "covered";
  outside.settle((draft) => {
    if (isCurrent(draft.state, attempt)) attemptUnpaid(draft, thread.id, how);
  });
  return false;
};

/** The gate's place for the attempt; false if it has to wait for it, or gets none. */
const hasPlace = async (outside: Outside, attempt: Attempt, call: ModelCall): Promise<boolean> => {
  const placed = await placeFor(outside, call);
  if (placed.is === "free" || placed.is === "late") return placed.is === "free";
  outside.settle((draft) => {
    if (!isCurrent(draft.state, attempt)) return;
    if (placed.is === "failed") attemptFailed(draft, attempt.thread.id, placed.failure);
    else attemptPlaced(draft, attempt.thread.id, placed.until, placed.booked);
  });
  return false;
};

type Stored = ReturnType<typeof attemptFailed>;

const replyStored = ({ host, settle }: Outside, attempt: Attempt, reply: Completion, saw: Sight): void => {
  const { thread, run, phase } = attempt;
  settle((draft) => {
    if (isCurrent(draft.state, attempt)) answered(draft, thread.id, reply, saw);
    else host.late({ thread: thread.id, run: run.id, step: attemptId(run, phase.attempt), code: "ok" });
  });
};

/** SHA-256 of the body that a failed attempt sent; a reply brings its own. null if the provider does not tell, or it could not be made. */
const sentHash = ({ completer }: Lane, request: ModelRequest): string | null => {
  let body: string | undefined;
  try {
    body = completer.body?.(request);
  } catch {
    return null;
  }
  return body === undefined ? null : sha256Hex(body);
};

/** Stores a failure; answers whether its lane was given up. */
const failureStored = (
  { host, settle }: Outside,
  attempt: Attempt,
  failure: ModelFailure,
  saw: () => Pick<LedgerRow, "saw">,
): Stored => {
  let stored: Stored = { exhausted: false };
  const seen = isCurrent(host.read(), attempt) ? saw() : {};
  settle((draft) => {
    if (isCurrent(draft.state, attempt)) stored = attemptFailed(draft, attempt.thread.id, failure, seen);
  });
  return stored;
};

const historyBroken = (draft: Draft, threadId: string): void => {
  changeRun(draft, threadId, {
    phase: { at: "ready" },
    stop: { reason: "internal", error: "the history could not be made valid" },
  });
};

/** Repairs that are named in one event. */
const mostNamed = 20;

/** The thread's messages as a provider may see them; what had to be mended is said once in each run. */
const visible = ({ settle }: Outside, attempt: Attempt): ModelRequest["messages"] | null => {
  const { thread, run } = attempt;
  const { messages, repairs } = view(thread.chat, thread.firstInput);
  if (messages.length === 0) {
    settle((draft) => historyBroken(draft, thread.id));
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

/** Output tokens the request may ask for: what its budget and the window leave (EF-38, MO-6); null if the window leaves too little to be useful. */
const roomFor = (outside: Outside, { thread, run, phase, agent, lane }: Attempt): number | null => {
  const { output } = attemptAt(outside, thread.id)?.phase.hold ?? phase.hold;
  const room = outputFor(lane, requestTokens(agent, thread, run), Infinity);
  return room < leastOutput ? null : Math.min(output, room);
};

const overflow = ({ lane }: Attempt): ModelFailure => ({
  code: "context_overflow",
  retryable: false,
  provider: lane.provider,
  model: lane.model,
  message: `the history does not fit the model's context window of ${lane.window} tokens`,
});

/** Makes the attempt that the state says is being made, and stores its outcome unless it came too late. */
export const think = async (outside: Outside, threadId: string): Promise<void> => {
  const attempt = attemptAt(outside, threadId);
  if (attempt === null) return;
  const { thread, run, phase, agent, lane } = attempt;
  const session = outside.host.read();
  const from = { edit: session.nextEdit - 1, override: overrideFor(session, thread) };
  const sight = sightOf(agent, thread, run, { ...from, held: phase.hold.output });
  const call: ModelCall = {
    id: placeId(session.id, threadId, attemptId(run, phase.attempt)),
    lane,
    booked: phase.booked,
    input: requestTokens(agent, thread, run),
    output: phase.hold.output,
  };
  const messages = visible(outside, attempt);
  if (messages === null || !(await isPaid(outside, attempt)) || !(await hasPlace(outside, attempt, call)))
    return;
  const maxTokens = roomFor(outside, attempt);
  if (maxTokens === null) {
    outside.settle((draft) => {
      if (isCurrent(draft.state, attempt)) attemptFailed(draft, threadId, overflow(attempt));
    });
    return;
  }
  const stream = openStream(outside.host, threadId, run, phase.attempt);
  const request = (): ModelRequest => requestOf(outside, attempt, messages, maxTokens);
  const saw = { ...sight, max_tokens: maxTokens };
  const stored = async (outcome: Outcome): Promise<Stored> => {
    stream.close();
    if (!outcome.ok) {
      const { failure, known } = outcome;
      return failureStored(outside, attempt, failure, () =>
        known ? { saw: { ...saw, hash: sentHash(lane, request()) } } : {},
      );
    }
    const { reply } = outcome;
    await grantsLooked(outside.host, agent, thread, reply.parts);
    replyStored(outside, attempt, reply, saw);
    return { exhausted: false };
  };
  await made(outside, call, request, stored, { onDelta: stream.take });
};
