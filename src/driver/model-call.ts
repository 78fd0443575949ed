import type { CostEstimate } from "../agent/budgets/bounds.ts";
import type { LeaseRefusal } from "../agent/budgets/lease.ts";
import { applyLeaseAnswer, findLeaseRequest, sumOtherReservations } from "../agent/budgets/lease.ts";
import { pauseStep } from "../agent/calls/model-call.ts";
import type { ModelTarget } from "../agent/definition/agent.ts";
import type { ReachedLimit } from "../agent/state/budget.ts";
import type { ProviderFrame } from "../agent/state/events.ts";
import type { ModelCall, Ticket } from "../agent/state/phase.ts";
import { modelCallOf, awaitedTicketOf } from "../agent/state/phase.ts";
import type { Session } from "../agent/state/session.ts";
import type { ThreadDraft } from "../agent/transaction/draft.ts";
import { selectThread } from "../agent/transaction/draft.ts";
import { utf8Length, estimateText } from "../chat/tokens.ts";
import type { CompleteOptions, Completion, ModelRequest } from "../model/completer.ts";
import type { ModelFailure, ModelErrorCode } from "../model/error.ts";
import { ModelError } from "../model/error.ts";
import type { GateSettlement, ReserveAnswer, ReserveRequest } from "../model/gate.ts";
import type { Host, WorkContext } from "./host.ts";
import { withTimeout } from "./host.ts";
import { allTargets } from "../agent/definition/agent.ts";
import type { Thread } from "../agent/state/thread.ts";
import type { Embedder } from "../agent/definition/memory.ts";
import { asModelError } from "../model/failure.ts";

/** Makes the model call that a thread's state says is under way: lease, ticket, request, stored outcome. */

/** What a call asks and what follows from it. The transitions run only while the call is the current one. */
interface ModelCallPlan {
  readonly thread: string;
  readonly target: ModelTarget;
  readonly estimate: CostEstimate;
  readonly request: (call: ModelCall) => ModelRequest;
  readonly onDelta?: CompleteOptions["onDelta"];
  /** Awaited between the end of a sent call and the transition that stores its outcome. */
  readonly ended?: (outcome: ModelCallOutcome) => Promise<void>;
  /** Handles a call that the tenant's day does not pay for. */
  readonly uncovered: (draft: ThreadDraft, call: ModelCall, how: LeaseRefusal) => void;
  /** Stores a failure and returns whether the target's retries are used up; `sent` is set if the provider saw the request. */
  readonly fail: (
    draft: ThreadDraft,
    call: ModelCall,
    failure: ModelFailure,
    sent: (() => ModelRequest) | null,
  ) => boolean;
  readonly reply: (draft: ThreadDraft, call: ModelCall, reply: Completion) => void;
  /** Called instead of `reply` if the reply is no longer needed. */
  readonly late?: () => void;
}

/** How a sent call ended; `known` means that its provider, or the network to it, failed as expected. */
export type ModelCallOutcome =
  | { readonly ok: true; readonly reply: Completion }
  | { readonly ok: false; readonly failure: ModelFailure; readonly known: boolean };

const failedOutcome = ({ provider, model }: ModelTarget, error: unknown): ModelCallOutcome => {
  if (error instanceof ModelError) return { ok: false, failure: error.failure, known: true };
  const message = `the request could not be made: ${error instanceof Error ? error.name : "error"}`;
  const failure = { code: "invalid_request", retryable: false, provider, model, message } as const;
  return { ok: false, failure, known: false };
};

const settlementOf = (outcome: ModelCallOutcome): Pick<GateSettlement, "code" | "usage" | "holdUntil"> => {
  if (!outcome.ok) return { code: outcome.failure.code, usage: null, holdUntil: outcome.failure.holdUntil };
  const { usage, holdUntil } = outcome.reply;
  return { code: "ok", usage, holdUntil };
};

/**
 * Returns the failure of a call whose ticket starts too late. The target is given up: waiting that long would
 * only mean waiting as long again. Our own limiter says nothing about the provider's health, so this failure
 * is not reported to the gate.
 */
const noTicketFailure = ({ provider, model, retry }: ModelTarget, startsIn: number): ModelFailure => ({
  code: "rate_limited",
  retryable: true,
  retryAfterMs: Math.max(startsIn, retry.maxWait + 1),
  provider,
  model,
  message: "no place at the provider's rate limit became free in time",
});

/** Returns the call while it is under way; null once its outcome is no longer needed. */
type CurrentCall = (session: Session) => ModelCall | null;

/** Changes the state if the call is still under way, otherwise calls `late`. */
type StoreOutcome = (change: (draft: ThreadDraft, call: ModelCall) => void, late?: () => void) => void;

/** Rounds until the call gives up: of two threads that draw at once, each may need the other's share. */
const mostRounds = 8;

const leaseTimeoutMs = 10_000;

/**
 * Returns whether a lease of the tenant's day covers the call, asked for if need be. If not, `uncovered` has stored what
 * follows, or the call is over.
 */
const ensureLease = async (
  work: WorkContext,
  { thread, estimate, uncovered }: ModelCallPlan,
  current: CurrentCall,
  store: StoreOutcome,
): Promise<boolean> => {
  const { host } = work;
  let refusal: LeaseRefusal | null = null;
  for (let round = 0; round < mostRounds && refusal === null; round++) {
    if (current(host.read()) === null) return false;
    const request = findLeaseRequest(host.read(), host.budgets.tenant, thread, estimate);
    if (request === null) return true;
    const answer = await withTimeout(work, leaseTimeoutMs, () => host.tenant.lease(request));
    if (answer === null) break;
    const reached = { limit: null as ReachedLimit | null };
    store((draft) => (reached.limit = applyLeaseAnswer(draft, estimate, request, answer)));
    const others = sumOtherReservations(host.read(), thread).tokens;
    refusal = reached.limit !== null && others > 0 ? "wait" : reached.limit;
  }
  store((draft, call) => uncovered(draft, call, refusal ?? "unreachable"));
  return false;
};

/** Returns whether the call holds its ticket now; if not, it waits for the ticket, failed, or is no longer needed. */
const takeTicket = async (
  { host, tickets, stop }: WorkContext,
  { target, fail }: ModelCallPlan,
  { ticket: { id, booked }, input, reservation }: ModelCall,
  store: StoreOutcome,
): Promise<boolean> => {
  if (target.gate === null || booked) return true;
  if (stop.asked()) return false;
  const { status, startAt } = await tickets.ask(target, { id, input, maxOutput: reservation.output });
  if (stop.asked()) return false;
  const now = host.now();
  if (status === "booked" && startAt <= now) return true;
  store((draft, call) => {
    const ticket = { ...call.ticket, booked: status === "booked" };
    if (status === "rate_limited") fail(draft, call, noTicketFailure(target, startAt - now), null);
    else pauseStep(draft, { on: "retry", until: startAt }, { ticket });
  });
  return false;
};

/** Longest frame of a provider that is sent to watchers, in bytes. */
const longestFrame = 65_536;

const fitFrame = (frame: ProviderFrame): ProviderFrame => {
  const bytes = utf8Length(JSON.stringify(frame));
  if (bytes <= longestFrame) return frame;
  const length = Math.floor((frame.data.length * (longestFrame - 512)) / bytes) - 1;
  return fitFrame({ ...frame, data: frame.data.slice(0, length).toWellFormed(), truncated: true });
};

/** Returns the function that shows the frames of a call to watchers; undefined if the team shows none. */
const rawFramesTo = (host: Host, thread: string, call: ModelCall): CompleteOptions["onRaw"] => {
  const { showFrames } = host;
  const run = host.read().threads[thread]?.run;
  if (showFrames === null || run == null) return undefined;
  const { id, turn } = run;
  const { purpose, attempt, target } = call;
  const place = { type: "llm_provider_raw", thread, run: id, turn, purpose, attempt, ...target } as const;
  return (frames) => showFrames(frames.map((data) => fitFrame({ ...place, data })));
};

/** Sends the request of a call that holds its ticket, stores the outcome, and reports it to the gate. */
const sendCall = async (
  { host, tickets, stop }: WorkContext,
  { thread, target, request, onDelta, ended, fail, reply, late }: ModelCallPlan,
  call: ModelCall,
  store: StoreOutcome,
): Promise<void> => {
  const { id } = call.ticket;
  tickets.used(target, id);
  let outcome: ModelCallOutcome;
  try {
    const onRaw = rawFramesTo(host, thread, call);
    const options = {
      signal: stop.signal(),
      timers: host,
      ...(onDelta && { onDelta }),
      ...(onRaw && { onRaw }),
    };
    outcome = { ok: true, reply: await target.completer.complete(request(call), options) };
  } catch (error) {
    outcome = failedOutcome(target, error);
  }
  if (!outcome.ok && outcome.failure.code === "platform_limit") host.renewDrive();
  let exhausted = false;
  try {
    await ended?.(outcome);
    if (outcome.ok) store((draft, now) => reply(draft, now, outcome.reply), late);
    else
      store((draft, now) => {
        exhausted = fail(draft, now, outcome.failure, outcome.known ? () => request(now) : null);
      });
  } finally {
    reportCallEnd(host, target, id, { ...settlementOf(outcome), exhausted });
  }
};

/** Makes the call that the thread's state says is under way, and stores its outcome unless that comes too late. */
export const makeModelCall = async (work: WorkContext, plan: ModelCallPlan): Promise<void> => {
  const callOf = ({ threads }: Session): ModelCall | null => modelCallOf(threads[plan.thread]?.run ?? null);
  const { id } = callOf(work.host.read())?.ticket ?? { id: null };
  const current: CurrentCall = (session) => {
    const call = callOf(session);
    return call?.ticket.id === id ? call : null;
  };
  const store: StoreOutcome = (change, late) =>
    work.settle((draft) => {
      const call = current(draft.state);
      if (call === null) late?.();
      else change(selectThread(draft, plan.thread), call);
    });
  if (!(await ensureLease(work, plan, current, store))) return;
  const call = current(work.host.read());
  if (call !== null && (await takeTicket(work, plan, call, store))) await sendCall(work, plan, call, store);
};

/** Deals with providers' gates: asks for tickets, gives back unused ones and reports how calls ended. */

type GateTarget = Pick<ModelTarget, "provider" | "model" | "gate">;

/** Asks a target's gate for a ticket; a target without a rate limit needs none. */
const reserveTicket = async (
  host: Pick<Host, "gate">,
  { provider, gate }: GateTarget,
  request: Pick<ReserveRequest, "id" | "input" | "maxOutput">,
): Promise<ReserveAnswer> =>
  gate === null ? { status: "booked", startAt: 0 } : host.gate(provider).reserve({ ...request, ...gate });

/** Reports to a target's gate how a request ended, whether or not it needed a ticket. */
const reportCallEnd = (
  host: Pick<Host, "gate">,
  { provider, model, gate }: GateTarget,
  id: string,
  outcome: Omit<GateSettlement, "model">,
): void => host.gate(provider).ended(id, gate !== null, { model, ...outcome });

/** Tickets of a session at the gates: calls that asked for them use them, and all others are given back. */
export interface Tickets {
  /** Asks for a call's ticket, which is given back unless the state then wants it. */
  readonly ask: (
    target: ModelTarget,
    request: Pick<ReserveRequest, "id" | "input" | "maxOutput">,
  ) => Promise<ReserveAnswer>;
  /** Marks a ticket as used, because its call is sent now. */
  readonly used: (target: ModelTarget, id: string) => void;
  /** Gives back the tickets that the state no longer wants. */
  readonly review: (session: Pick<Session, "threads">) => void;
  /** Gives back every ticket of a removed session, including those that are still being asked for. */
  readonly leave: () => void;
}

type TicketRef = Pick<Ticket, "provider" | "id">;

/** Frees the slot of a call that was lost with an older isolate; the tokens it may have used stay booked. */
const releaseLostTicket = (host: Host, thread: Thread): void => {
  const call = modelCallOf(thread.run);
  if (call === null) return;
  const { provider, model } = call.target;
  // The model may have been changed since, and the targets of that call are unknown then.
  const target = allTargets(host.agent(thread.id)).find((each) => each.provider === provider);
  if (target?.gate === null) return;
  host
    .gate(provider)
    .ended(call.ticket.id, true, { model, code: "cancelled", exhausted: false, usage: null });
};

const ticketKeyOf = ({ provider, id }: TicketRef): string => `${provider} ${id}`;

/** Creates the tickets of a session, including those that an older isolate left in the state. */
export const createTickets = (host: Host): Tickets => {
  const { threads } = host.read();
  const awaited = Object.values(threads).flatMap(({ run }) => awaitedTicketOf(run) ?? []);
  /** Tickets that no call has used yet. */
  const unused = new Map<string, TicketRef>(awaited.map((ticket) => [ticketKeyOf(ticket), ticket]));
  let lost = Object.values(threads).filter(({ run }) => modelCallOf(run) !== null);
  let removed = false;
  const review: Tickets["review"] = (session) => {
    for (const thread of lost) releaseLostTicket(host, thread);
    lost = [];
    if (unused.size === 0) return;
    const wanted = new Set(
      Object.values(session.threads)
        .flatMap(({ run }) => awaitedTicketOf(run) ?? modelCallOf(run)?.ticket ?? [])
        .map(ticketKeyOf),
    );
    for (const [key, ticket] of unused) {
      if (wanted.has(key)) continue;
      host.gate(ticket.provider).release(ticket.id);
      unused.delete(key);
    }
  };
  return {
    ask: async (target, request) => {
      const ticket = { provider: target.provider, id: request.id };
      unused.delete(ticketKeyOf(ticket));
      const answer = await reserveTicket(host, target, request);
      if (answer.status !== "rate_limited") unused.set(ticketKeyOf(ticket), ticket);
      if (removed) review({ threads: {} });
      return answer;
    },
    used: ({ provider }, call) => void unused.delete(ticketKeyOf({ provider, id: call })),
    review,
    leave: () => {
      removed = true;
      review({ threads: {} });
    },
  };
};

/** Sends embedding requests through their provider's gate: each takes a ticket that is free now, or none. */

const embedAtGate = async (
  gates: Pick<Host, "gate">,
  embedder: Embedder,
  id: string,
  texts: readonly string[],
  signal: AbortSignal,
): ReturnType<Embedder["embed"]> => {
  const { provider, model } = embedder;
  const input = texts.reduce((sum, text) => sum + estimateText(text), 0);
  const { status } = await reserveTicket(gates, embedder, { id, input, maxOutput: 0 });
  if (status !== "booked")
    throw new Error(`provider ${provider}: its rate limit has no free place right now`);
  let code: ModelErrorCode | "ok" = "ok";
  try {
    return await embedder.embed(texts, signal);
  } catch (error) {
    ({ code } = asModelError(error, { provider, model }, signal).failure);
    throw error;
  } finally {
    reportCallEnd(gates, embedder, id, { code, exhausted: code !== "ok", usage: null });
  }
};

/** Wraps embedders so that each request takes its own ticket; `name` sets this isolate's requests apart. */
export const gateEmbedders = (
  embedderOf: Host["embedder"],
  gate: Host["gate"],
  name: string,
): Host["embedder"] => {
  let asked = 0;
  return (agent) => {
    const embedder = embedderOf(agent);
    if (embedder === null) return null;
    const embed: Embedder["embed"] = (texts, signal) => {
      asked += 1;
      return embedAtGate({ gate }, embedder, `${name}.${asked}`, texts, signal);
    };
    return { ...embedder, embed };
  };
};
