import type { CostEstimate } from "../agent/budgets/bounds.ts";
import type { LeaseRefusal } from "../agent/budgets/lease.ts";
import { applyLeaseAnswer, findLeaseRequest, sumOtherReservations } from "../agent/budgets/lease.ts";
import { pauseStep } from "../agent/calls/model-call.ts";
import type { ModelTarget } from "../agent/definition/agent.ts";
import type { ReachedLimit } from "../agent/state/budget.ts";
import type { ProviderFrame } from "../agent/state/events.ts";
import type { ModelCall } from "../agent/state/phase.ts";
import { modelCallOf } from "../agent/state/phase.ts";
import type { Session } from "../agent/state/session.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import { utf8Length } from "../chat/tokens.ts";
import type { CompleteOptions, Completion, ModelRequest } from "../model/completer.ts";
import type { ModelFailure } from "../model/error.ts";
import { ModelError } from "../model/error.ts";
import type { GateSettlement } from "../model/gate.ts";
import type { Host } from "./host.ts";
import { reportCallEnd } from "./tickets.ts";
import type { WorkContext } from "./work.ts";
import { withTimeout } from "./work.ts";

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
  readonly uncovered: (draft: Draft, call: ModelCall, how: LeaseRefusal) => void;
  /** Stores a failure and returns whether the target was given up; `sent` is set if the provider saw the request. */
  readonly fail: (
    draft: Draft,
    call: ModelCall,
    failure: ModelFailure,
    sent: (() => ModelRequest) | null,
  ) => boolean;
  readonly reply: (draft: Draft, call: ModelCall, reply: Completion) => void;
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
type StoreOutcome = (change: (draft: Draft, call: ModelCall) => void, late?: () => void) => void;

/** Number of rounds after which two threads that draw at once each hold a lease that covers them. */
const mostRounds = 8;

const leaseTimeoutMs = 10_000;

/** Returns whether a lease of the tenant's day covers the call, asked for if need be; otherwise the call waits. */
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
    store((draft) => (reached.limit = applyLeaseAnswer(draft, thread, estimate, request, answer)));
    const others = sumOtherReservations(host.read(), thread).tokens;
    refusal = reached.limit !== null && others > 0 ? "wait" : reached.limit;
  }
  store((draft, call) => uncovered(draft, call, refusal ?? "unreachable"));
  return false;
};

/** Returns whether the call holds its ticket now; if not, it waits for the ticket, failed, or is no longer needed. */
const takeTicket = async (
  { host, tickets, signal }: WorkContext,
  { thread, target, fail }: ModelCallPlan,
  { ticket: { id, booked }, input, reservation }: ModelCall,
  store: StoreOutcome,
): Promise<boolean> => {
  if (target.gate === null || booked) return true;
  if (signal.aborted) return false;
  const { status, startAt } = await tickets.ask(target, { id, input, maxOutput: reservation.output });
  if (signal.aborted) return false;
  const now = host.now();
  if (status === "booked" && startAt <= now) return true;
  store((draft, call) => {
    const ticket = { ...call.ticket, booked: status === "booked" };
    if (status === "rate_limited") fail(draft, call, noTicketFailure(target, startAt - now), null);
    else pauseStep(draft, thread, { on: "retry", until: startAt }, { ticket });
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
  { host, tickets, signal }: WorkContext,
  { thread, target, request, onDelta, ended, fail, reply, late }: ModelCallPlan,
  call: ModelCall,
  store: StoreOutcome,
): Promise<void> => {
  const { id } = call.ticket;
  tickets.used(target, id);
  let outcome: ModelCallOutcome;
  try {
    const onRaw = rawFramesTo(host, thread, call);
    const options = { signal, timers: host, ...(onDelta && { onDelta }), ...(onRaw && { onRaw }) };
    outcome = { ok: true, reply: await target.completer.complete(request(call), options) };
  } catch (error) {
    outcome = failedOutcome(target, error);
  }
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
      else change(draft, call);
    });
  if (!(await ensureLease(work, plan, current, store))) return;
  const call = current(work.host.read());
  if (call !== null && (await takeTicket(work, plan, call, store))) await sendCall(work, plan, call, store);
};
