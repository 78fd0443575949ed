import { view } from "../chat/view.ts";
import { sha256Hex } from "../sandbox/sha256.ts";
import type { Completion, ModelRequest } from "../model/completer.ts";
import { ModelError } from "../model/error.ts";
import type { ModelFailure } from "../model/error.ts";
import type { Agent, Lane } from "./agent.ts";
import { attemptFailed, attemptPlaced, attemptUnpaid } from "./attempts.ts";
import { changeRun, emit } from "./draft.ts";
import type { Draft } from "./draft.ts";
import { requestTokens } from "./effects.ts";
import { grantsLooked } from "./grants.ts";
import { drawn } from "./lease.ts";
import type { Outside } from "./outside.ts";
import type { LedgerRow, Sight } from "./records.ts";
import { placeId } from "./places.ts";
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
const hasPlace = async (outside: Outside, attempt: Attempt, id: string): Promise<boolean> => {
  const { host, settle } = outside;
  const { lane, phase, thread } = attempt;
  if (lane.gate === null || phase.booked) return true;
  const input = requestTokens(attempt.agent, thread, attempt.run);
  const { status, startAt } = await host
    .gate(lane.provider)
    .reserve({ id, input, maxOutput: phase.hold.output, ...lane.gate });
  const now = host.now();
  if (status === "rate_limited") {
    const { provider, model } = lane;
    const message = "the provider's rate limit leaves no place in time";
    const failure = {
      code: "rate_limited",
      retryable: true,
      retryAfterMs: Math.max(0, startAt - now),
      provider,
      model,
      message,
    } as const;
    // Our own limiter says nothing about the provider's health, so the gate is not told.
    settle((draft) => {
      if (isCurrent(draft.state, attempt)) attemptFailed(draft, thread.id, failure);
    });
    return false;
  }
  if (status === "booked" && startAt <= now) return true;
  outside.placed(thread.id, attempt.phase.attempt, lane.provider, id);
  settle((draft) => {
    if (isCurrent(draft.state, attempt)) attemptPlaced(draft, thread.id, startAt, status === "booked");
  });
  return false;
};

const internalFailure = ({ lane }: Attempt, error: unknown): ModelFailure => ({
  code: "invalid_request",
  retryable: false,
  provider: lane.provider,
  model: lane.model,
  message: `the request could not be made: ${error instanceof Error ? error.name : "error"}`,
});

const storeReply = (outside: Outside, attempt: Attempt, id: string, reply: Completion, saw: Sight): void => {
  const { host, settle } = outside;
  const { thread, run, phase } = attempt;
  settle((draft) => {
    if (isCurrent(draft.state, attempt)) answered(draft, thread.id, reply, saw);
    else host.late({ thread: thread.id, run: run.id, step: attemptId(run, phase.attempt), code: "ok" });
  });
  const { provider, model, gate } = attempt.lane;
  const { usage, holdUntil } = reply;
  host.gate(provider).ended(id, gate !== null, { model, code: "ok", exhausted: false, usage, holdUntil });
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

const storeFailure = (
  outside: Outside,
  attempt: Attempt,
  id: string,
  failure: ModelFailure,
  saw: () => Pick<LedgerRow, "saw">,
): void => {
  const { host, settle } = outside;
  let exhausted = false;
  const seen = isCurrent(host.read(), attempt) ? saw() : {};
  settle((draft) => {
    if (isCurrent(draft.state, attempt))
      ({ exhausted } = attemptFailed(draft, attempt.thread.id, failure, seen));
  });
  const { provider, model, gate } = attempt.lane;
  host.gate(provider).ended(id, gate !== null, { model, code: failure.code, exhausted, usage: null });
};

const historyBroken = (draft: Draft, threadId: string): void => {
  changeRun(draft, threadId, {
    phase: { at: "ready" },
    stop: { reason: "internal", error: "the history could not be made valid" },
  });
};

/** The thread's messages as a provider may see them; what had to be mended is said once. */
const visible = ({ settle }: Outside, attempt: Attempt): ModelRequest["messages"] | null => {
  const { thread } = attempt;
  const { messages, repairs } = view(thread.chat, thread.firstInput);
  if (messages.length === 0) {
    settle((draft) => historyBroken(draft, thread.id));
    return null;
  }
  if (repairs.length > 0 && attempt.phase.attempt === 1) {
    const what = repairs.map(({ kind, message }) => `${kind} at ${message}`).join(", ");
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
  const id = placeId(session.id, threadId, attemptId(run, phase.attempt));
  const from = { edit: session.nextEdit - 1, override: overrideFor(session, thread) };
  const sight = sightOf(agent, thread, run, { ...from, held: phase.hold.output });
  const messages = visible(outside, attempt);
  if (messages === null || !(await isPaid(outside, attempt)) || !(await hasPlace(outside, attempt, id)))
    return;
  const maxTokens = roomFor(outside, attempt);
  if (maxTokens === null) {
    if (lane.gate !== null) outside.host.gate(lane.provider).release(id);
    outside.settle((draft) => {
      if (isCurrent(draft.state, attempt)) attemptFailed(draft, threadId, overflow(attempt));
    });
    return;
  }
  const stream = openStream(outside.host, threadId, run, phase.attempt);
  let reply: Completion;
  try {
    reply = await lane.completer.complete(requestOf(outside, attempt, messages, maxTokens), {
      signal: outside.signal,
      onDelta: stream.take,
    });
  } catch (error) {
    stream.close();
    const known = error instanceof ModelError;
    const failure = known ? error.failure : internalFailure(attempt, error);
    storeFailure(outside, attempt, id, failure, () => {
      if (!known) return {};
      const hash = sentHash(lane, requestOf(outside, attempt, messages, maxTokens));
      return { saw: { ...sight, max_tokens: maxTokens, hash } };
    });
    return;
  }
  stream.close();
  await grantsLooked(outside.host, attempt.agent, attempt.thread, reply.parts);
  storeReply(outside, attempt, id, reply, { ...sight, max_tokens: maxTokens });
};
