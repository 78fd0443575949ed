import type { Completion, ModelRequest } from "../model/completer.ts";
import { ModelError } from "../model/error.ts";
import type { ModelFailure } from "../model/error.ts";
import { estimateText } from "../chat/tokens.ts";
import { sha256Hex } from "../sandbox/sha256.ts";
import { callLane } from "./agent.ts";
import type { Agent, Lane } from "./agent.ts";
import type { Draft } from "./draft.ts";
import { emit } from "./draft.ts";
import type { BoundEffect, EffectCall, EffectReply } from "./effect.ts";
import { ledgered } from "./ledger.ts";
import { drawn, withLease } from "./lease.ts";
import type { Outside } from "./outside.ts";
import { effectCalling, memoKept, preparingOf, preparingPaused } from "./preparing.ts";
import { holdOf, roomFor } from "./budget.ts";
import type { Wanted } from "./budget.ts";
import { exceeded } from "./budget-ask.ts";
import type { Reached } from "./budget-types.ts";
import { usd } from "./result.ts";
import { wantedOn } from "./room.ts";
import { spent } from "./spending.ts";
import { noUsage } from "./usage.ts";
import type { EffectMemo, Preparing, Run, Session, Thread } from "./state.ts";
import type { Json } from "../chat/message.ts";

/** The model calls of an effect: what has its reply is stored, and never asked again (EF-20). */

/** An effect at work, as the state had it when it began. */
export interface Work {
  readonly thread: Thread;
  readonly run: Run;
  readonly phase: Preparing;
  readonly agent: Agent;
  readonly bound: BoundEffect;
}

const tries = 3;
const firstPause = 500;
const longestPause = 5_000;

/** Whether the state still says that this very start of the effect is at work. */
const isCurrent = (session: Session, { thread, run, phase }: Work): boolean => {
  const now = session.threads[thread.id]?.run ?? null;
  const at = preparingOf(now);
  return (
    now?.id === run.id &&
    now.turn === run.turn &&
    at?.effect === phase.effect &&
    at.round === phase.round &&
    at.until === null
  );
};

/** Changes the state if this very start of the effect is still at work. */
export const settled = ({ settle }: Outside, work: Work, change: (draft: Draft) => void): void =>
  settle((draft) => {
    if (isCurrent(draft.state, work)) change(draft);
  });

/** What came of a call or question before; undefined if it is new. */
export const memoOf = ({ host }: Outside, { thread }: Work, key: string): EffectMemo | undefined =>
  preparingOf(host.read().threads[thread.id]?.run ?? null)?.memo[key];

export const digest = (...parts: readonly Json[]): string => sha256Hex(JSON.stringify(parts)).slice(0, 32);

const laneOf = ({ bound, agent, run }: Work): Lane | undefined => callLane(agent, run, bound.lane);

const requestOf = (
  { host }: Outside,
  { thread, run, agent }: Work,
  lane: Lane,
  { system, prompt, maxTokens }: EffectCall,
  attempt: number,
): ModelRequest => ({
  model: lane.model,
  system,
  messages: [
    {
      id: `msg_${thread.id}_prompt`,
      pos: 0,
      role: "user",
      origin: "system",
      parts: [{ type: "text", text: prompt }],
      at: host.now(),
      tokens: 0,
    },
  ],
  tools: [],
  toolChoice: "none",
  maxTokens: Math.min(maxTokens, lane.maxOutput),
  ...lane.sampling,
  cache: { ...lane.cache, mode: "off" },
  media: (blob) => host.media(blob),
  context: {
    session: host.read().id,
    agent: agent.name,
    thread: thread.id,
    run: run.id,
    turn: run.turn,
    call: thread.calls,
    attempt,
    purpose: "compaction",
  },
});

const booked = (
  draft: Draft,
  threadId: string,
  lane: Lane,
  attempt: number,
  {
    outcome,
    usage,
    estimated,
    cost,
    ms,
  }: Pick<Completion, "usage" | "estimated" | "cost"> & {
    readonly outcome: Parameters<typeof ledgered>[2]["outcome"];
    readonly ms: number;
  },
): void => {
  const { provider, model } = lane;
  const purpose = "compaction";
  ledgered(draft, threadId, { outcome, usage, estimated, cost, provider, model, purpose, attempt });
  spent(draft, threadId, { time: ms });
};

/** A try that brought nothing: the effect waits and is then run again, or learns that it failed. */
const tryFailed = (
  outside: Outside,
  work: Work,
  key: string,
  attempts: number,
  failure: { readonly error: string; readonly retryAfterMs?: number; readonly retryable: boolean },
  book: (draft: Draft) => void,
): EffectReply | null => {
  const { error, retryAfterMs = 0, retryable } = failure;
  const wait = Math.max(retryAfterMs, Math.min(longestPause, firstPause * 2 ** (attempts - 1)));
  const given = !retryable || attempts >= tries || wait > (laneOf(work)?.retry.maxWait ?? 0);
  const reply: EffectReply = { ok: false, error, attempts };
  settled(outside, work, (draft) => {
    book(draft);
    memoKept(draft, work.thread.id, key, given ? reply : attempts);
    if (!given) preparingPaused(draft, work.thread.id, draft.moment.now + wait, "retry");
  });
  return given ? reply : null;
};

const failureOf = (
  error: unknown,
): Pick<ModelFailure, "message" | "retryable" | "code"> & Partial<ModelFailure> =>
  error instanceof ModelError
    ? error.failure
    : { code: "invalid_request", retryable: false, message: "the request could not be made" };

const triesOf = (memo: EffectMemo | undefined): number => (typeof memo === "number" ? memo : 0);

/** How long a call waits for others of the tree before it looks for room again. */
const roomPause = 5_000;

/** A call without room is not made now: it waits for others of the tree, or its run asks for more or ends (EF-38). */
const callUnpaid = (draft: Draft, threadId: string, why: "wait" | Reached): void => {
  preparingPaused(draft, threadId, draft.moment.now + (why === "wait" ? roomPause : 0), "budget");
  if (why !== "wait") exceeded(draft, why);
};

/** Keeps back what a call may cost at worst: the output tokens it may ask for; null: it has no room. */
const callPaid = (outside: Outside, work: Work, lane: Lane, wanted: Wanted): number | null => {
  const threadId = work.thread.id;
  const paid: { output: number | null } = { output: null };
  settled(outside, work, (draft) => {
    const room = roomFor(draft, threadId, wanted);
    if (room.is !== "free") {
      callUnpaid(draft, threadId, room.is === "wait" ? "wait" : room.reached);
      return;
    }
    effectCalling(draft, threadId, lane, wanted.input, withLease(draft, threadId, room.hold));
    paid.output = room.hold.output;
  });
  return paid.output;
};

/** The same with the tenant's day, which may have to be asked. */
const callCovered = async (
  outside: Outside,
  work: Work,
  lane: Lane,
  wanted: Wanted,
): Promise<number | "unreachable" | null> => {
  const output = callPaid(outside, work, lane, wanted);
  if (output === null) return null;
  const threadId = work.thread.id;
  const how = await drawn(outside, threadId, wanted, (session) => isCurrent(session, work));
  if (how === "covered") return holdOf(outside.host.read().threads[threadId]?.run ?? null)?.output ?? output;
  if (how === "unreachable") return how;
  if (how !== "late") settled(outside, work, (draft) => callUnpaid(draft, threadId, how));
  return null;
};

/** One model call; null: its time is not come, the effect is run again then. */
export const called = async (outside: Outside, work: Work, call: EffectCall): Promise<EffectReply | null> => {
  const { host } = outside;
  const threadId = work.thread.id;
  const key = digest(call.system, call.prompt, call.maxTokens);
  const known = memoOf(outside, work, key);
  if (typeof known === "object") return known;
  const lane = laneOf(work);
  if (lane === undefined) return { ok: false, error: "the agent has no model", attempts: 0 };
  const attempts = triesOf(known) + 1;
  const request = requestOf(outside, work, lane, call, attempts);
  const input = estimateText(call.system) + estimateText(call.prompt);
  const maxTokens = await callCovered(outside, work, lane, wantedOn(lane, input, request.maxTokens));
  if (maxTokens === null) return null;
  if (maxTokens === "unreachable") {
    const error = "the tenant's budget could not be read";
    return tryFailed(outside, work, key, attempts, { retryable: true, error }, () => {});
  }
  const startedAt = host.now();
  let reply: Completion;
  try {
    reply = await lane.completer.complete({ ...request, maxTokens }, { signal: outside.signal });
  } catch (error) {
    const failure = failureOf(error);
    const { usage = noUsage, billed = false, cost = 0, code, message } = failure;
    return tryFailed(outside, work, key, attempts, { ...failure, error: message }, (draft) =>
      booked(draft, threadId, lane, attempts, {
        outcome: code,
        usage,
        estimated: billed,
        cost,
        ms: host.now() - startedAt,
      }),
    );
  }
  const text = reply.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const error = call.refuse?.(text, reply.finish) ?? null;
  const book = (draft: Draft): void => {
    const { finish, usage, cost, provider, model, requestId, firstByteMs, totalMs } = reply;
    const timing = { first_byte_ms: firstByteMs, duration_ms: totalMs };
    emit(draft, threadId, "llm_finish", {
      finish_reason: finish,
      usage,
      cost_usd: usd(cost),
      provider,
      model,
      request_id: requestId ?? null,
      ...timing,
    });
    booked(draft, threadId, lane, attempts, { ...reply, outcome: "ok", ms: totalMs });
  };
  if (error !== null) return tryFailed(outside, work, key, attempts, { error, retryable: true }, book);
  const done: EffectReply = { ok: true, text, attempts };
  settled(outside, work, (draft) => {
    book(draft);
    memoKept(draft, threadId, key, done);
  });
  return done;
};
