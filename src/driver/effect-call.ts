import type { Wanted } from "../agent/budgets/bounds.ts";
import { roomFor } from "../agent/budgets/bounds.ts";
import { withLease } from "../agent/budgets/lease.ts";
import { wantedOn } from "../agent/budgets/reserve.ts";
import { ledgered, spent, unpricedSaid } from "../agent/budgets/spend.ts";
import type { Agent, Lane } from "../agent/definition/agent.ts";
import { callLane } from "../agent/definition/agent.ts";
import type { BoundEffect, EffectCall } from "../agent/definition/effect.ts";
import {
  effectCalling,
  effectPlaced,
  memoKept,
  preparingOf,
  preparingPaused,
} from "../agent/hooks/preparing.ts";
import type { Reached } from "../agent/state/budget.ts";
import type { LedgerRow } from "../agent/state/records.ts";
import { usd } from "../agent/state/records.ts";
import type { EffectMemo, EffectReply, Preparing, Run } from "../agent/state/run.ts";
import type { Session } from "../agent/state/session.ts";
import type { Thread } from "../agent/state/thread.ts";
import { noUsage } from "../agent/state/usage.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import { emit } from "../agent/transaction/draft.ts";
import { exceeded } from "../agent/turn/answers.ts";
import { inputDoubted } from "../agent/turn/replies.ts";
import type { Json } from "../chat/message.ts";
import { estimateText } from "../chat/tokens.ts";
import type { Completion, ModelRequest } from "../model/completer.ts";
import type { ModelFailure } from "../model/error.ts";
import { sha256Hex } from "../sandbox/sha256.ts";
import { drawn } from "./lease.ts";
import type { ModelCall } from "./model-call.ts";
import { made, placeFor } from "./model-call.ts";
import type { Outside } from "./work.ts";

/** The model calls of an effect: what has its reply is stored, and never asked again. */

const tries = 3;

const firstPause = 500;

const longestPause = 5_000;

/** One try of a call of an effect. */
interface Try {
  readonly work: Work;
  readonly call: EffectCall;
  readonly key: string;
  readonly lane: Lane;
  /** From 1. */
  readonly attempt: number;
}

/** Estimated tokens of its request. */
const tokensOf = ({ system, prompt }: EffectCall): number => estimateText(system) + estimateText(prompt);

const laneOf = ({ bound, agent, run }: Work): Lane | undefined => callLane(agent, run, bound.lane);

const requestOf = (
  { host }: Outside,
  { work: { thread, run, agent }, call, lane, attempt }: Try,
  maxTokens: number,
): ModelRequest => ({
  model: lane.model,
  system: call.system,
  messages: [
    {
      id: `msg_${thread.id}_prompt`,
      pos: 0,
      role: "user",
      origin: "system",
      parts: [{ type: "text", text: call.prompt }],
      at: host.now(),
      tokens: 0,
    },
  ],
  tools: [],
  toolChoice: "none",
  maxTokens,
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

const finished = (draft: Draft, threadId: string, reply: Completion): void => {
  const { finish, usage, cost, provider, model, requestId, firstByteMs, totalMs } = reply;
  emit(draft, threadId, "llm_finish", {
    finish_reason: finish,
    usage,
    cost_usd: usd(cost),
    provider,
    model,
    request_id: requestId ?? null,
    first_byte_ms: firstByteMs,
    duration_ms: totalMs,
  });
};

const booked = (
  draft: Draft,
  { work, lane, attempt }: Try,
  {
    outcome,
    usage,
    estimated,
    cost,
    ms,
  }: Pick<LedgerRow, "outcome" | "usage" | "estimated" | "cost"> & { readonly ms: number },
): void => {
  const { provider, model } = lane;
  const purpose = "compaction";
  ledgered(draft, work.thread.id, { outcome, usage, estimated, cost, provider, model, purpose, attempt });
  spent(draft, work.thread.id, { time: ms });
};

/** What came of a try; without a reply its effect is run again when its time has come. */
interface Tried {
  readonly reply: EffectReply | null;
  /** The lane was given up. */
  readonly exhausted: boolean;
}

interface Failed {
  readonly error: string;
  readonly retryAfterMs?: number;
  readonly retryable: boolean;
}

/** A try that brought nothing: the effect waits and is then run again, or learns that it failed. */
const tryFailed = (
  outside: Outside,
  { work, key, lane, attempt }: Try,
  { error, retryAfterMs = 0, retryable }: Failed,
  book: (draft: Draft) => void,
): Tried => {
  const wait = Math.max(retryAfterMs, Math.min(longestPause, firstPause * 2 ** (attempt - 1)));
  const given = !retryable || attempt >= tries || wait > lane.retry.maxWait;
  const reply: EffectReply = { ok: false, error, attempts: attempt };
  settled(outside, work, (draft) => {
    book(draft);
    memoKept(draft, work.thread.id, key, given ? reply : attempt);
    if (!given) preparingPaused(draft, work.thread.id, draft.moment.now + wait, "retry");
  });
  return { reply: given ? reply : null, exhausted: given };
};

const modelFailed = (outside: Outside, each: Try, failure: ModelFailure, ms: number): Tried => {
  const { usage = noUsage, billed = false, cost = 0, code: outcome, message: error } = failure;
  const row = { outcome, usage, estimated: billed, cost, ms };
  return tryFailed(outside, each, { ...failure, error }, (draft) => booked(draft, each, row));
};

/** A reply that its effect refuses is a failed try; the gate hears of a good one. */
const replied = (outside: Outside, each: Try, reply: Completion): Tried => {
  const { work, key, call, attempt } = each;
  const threadId = work.thread.id;
  const text = reply.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const error = call.refuse?.(text, reply.finish) ?? null;
  const book = (draft: Draft): void => {
    finished(draft, threadId, reply);
    inputDoubted(draft, threadId, reply, tokensOf(call));
    booked(draft, each, { ...reply, outcome: "ok", ms: reply.totalMs });
  };
  if (error !== null)
    return { ...tryFailed(outside, each, { error, retryable: true }, book), exhausted: false };
  const done: EffectReply = { ok: true, text, attempts: attempt };
  settled(outside, work, (draft) => {
    book(draft);
    memoKept(draft, threadId, key, done);
  });
  return { reply: done, exhausted: false };
};

const triesOf = (memo: EffectMemo | undefined): number => (typeof memo === "number" ? memo : 0);

/** How long a call waits for others of the tree before it looks for room again. */
const roomPause = 5_000;

/** A call without room is not made now: it waits for others of the tree, or its run asks for more or ends. */
const callUnpaid = (draft: Draft, threadId: string, why: "wait" | Reached): void => {
  preparingPaused(draft, threadId, draft.moment.now + (why === "wait" ? roomPause : 0), "budget");
  if (why !== "wait") exceeded(draft, why);
};

/** Keeps back what a call may cost at worst; false: it has no room. */
const callPaid = (outside: Outside, { work, lane }: Try, wanted: Wanted): boolean => {
  const threadId = work.thread.id;
  let paid = false;
  settled(outside, work, (draft) => {
    const room = roomFor(draft, threadId, wanted);
    paid = room.is === "free";
    if (room.is !== "free") return callUnpaid(draft, threadId, room.is === "wait" ? "wait" : room.reached);
    if (lane.cost(noUsage) === null) unpricedSaid(draft, threadId, lane.model);
    effectCalling(draft, threadId, lane, wanted.input, withLease(draft, threadId, room.hold));
  });
  return paid;
};

/** The same with the tenant's day, which may have to be asked. */
const callCovered = async (
  outside: Outside,
  each: Try,
  wanted: Wanted,
): Promise<"covered" | "unreachable" | null> => {
  if (!callPaid(outside, each, wanted)) return null;
  const { work } = each;
  const how = await drawn(outside, work.thread.id, wanted, (session) => isCurrent(session, work));
  if (how === "covered" || how === "unreachable") return how;
  if (how !== "late") settled(outside, work, (draft) => callUnpaid(draft, work.thread.id, how));
  return null;
};

/** The call under way, as its gate knows it; null: it is not made any more. */
const underWay = ({ host }: Outside, { work, lane }: Try): ModelCall | null => {
  const session = host.read();
  const calling = preparingOf(session.threads[work.thread.id]?.run ?? null)?.calling;
  if (!isCurrent(session, work) || calling === null || calling === undefined) return null;
  const { place, tokens, hold } = calling;
  return { ...place, lane, input: tokens, output: hold.output };
};

/** The gate's place for the call; a reply where that is refused, null where it has to wait. */
const placed = async (outside: Outside, each: Try, call: ModelCall): Promise<Tried | "free"> => {
  const given = await placeFor(outside, call);
  if (given.is === "free") return "free";
  if (given.is === "failed") return modelFailed(outside, each, given.failure, 0);
  if (given.is === "wait")
    settled(outside, each.work, (draft) =>
      effectPlaced(draft, each.work.thread.id, given.until, given.booked),
    );
  return { reply: null, exhausted: false };
};

/** Makes a call that is paid for, once it has its place. */
const tried = async (outside: Outside, each: Try): Promise<EffectReply | null> => {
  const call = underWay(outside, each);
  if (call === null) return null;
  const place = await placed(outside, each, call);
  if (place !== "free") return place.reply;
  const startedAt = outside.host.now();
  const request = (): ModelRequest => requestOf(outside, each, call.output);
  const { reply } = await made(outside, call, request, (outcome) =>
    outcome.ok
      ? replied(outside, each, outcome.reply)
      : modelFailed(outside, each, outcome.failure, outside.host.now() - startedAt),
  );
  return reply;
};

/** One model call; null: its time is not come, the effect is run again then. */
export const called = async (outside: Outside, work: Work, call: EffectCall): Promise<EffectReply | null> => {
  const { system, prompt, maxTokens } = call;
  const key = digest(system, prompt, maxTokens);
  const known = memoOf(outside, work, key);
  if (typeof known === "object") return known;
  const lane = laneOf(work);
  if (lane === undefined) return { ok: false, error: "the agent has no model", attempts: 0 };
  const each: Try = { work, call, key, lane, attempt: triesOf(known) + 1 };
  const wanted = wantedOn(lane, tokensOf(call), Math.min(maxTokens, lane.maxOutput));
  const covered = await callCovered(outside, each, wanted);
  if (covered === "covered") return tried(outside, each);
  if (covered === null) return null;
  const error = "the tenant's budget could not be read";
  return tryFailed(outside, each, { retryable: true, error }, () => {}).reply;
};

/** An effect that needs the outside: whether it is still at work, and what it was told already. */

/** An effect at work, as the state had it when it began. */
export interface Work {
  readonly thread: Thread;
  readonly run: Run;
  readonly phase: Preparing;
  readonly agent: Agent;
  readonly bound: BoundEffect;
}

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
