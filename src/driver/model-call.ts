import type { ModelTarget } from "../agent/definition/agent.ts";
import { allTargets } from "../agent/definition/agent.ts";
import type { Ticket } from "../agent/state/run.ts";
import { ticketId } from "../agent/state/run.ts";
import type { Session } from "../agent/state/session.ts";
import type { Thread } from "../agent/state/thread.ts";
import { attemptId } from "../agent/turn/turns.ts";
import type { CompleteOptions, Completion, ModelRequest } from "../model/completer.ts";
import type { ModelFailure } from "../model/error.ts";
import { ModelError } from "../model/error.ts";
import type { ReserveAnswer, ReserveRequest, GateSettlement } from "../model/gate.ts";
import type { Host } from "./host.ts";
import type { WorkContext } from "./work.ts";

/** Describes a model call, whoever makes it: it asks its provider's gate for a ticket and reports its end there. */
export interface ModelCall {
  /** Identifies the call at the gate. */
  readonly id: string;
  readonly lane: ModelTarget;
  /** Is true once the call has waited for its ticket and holds it. */
  readonly booked: boolean;
  /** Counts the estimated input tokens; `output` limits the output tokens. */
  readonly input: number;
  readonly output: number;
}

/** `wait`: the call leaves at `until`, or asks again then if `booked` is false. `late`: nobody needs it any more. */
type TicketResult =
  | { readonly is: "free" }
  | { readonly is: "late" }
  | { readonly is: "wait"; readonly until: number; readonly booked: boolean }
  | { readonly is: "failed"; readonly failure: ModelFailure };

/**
 * The target is given up: its ticket starts too late, and a call that waited that long would only wait as long again.
 * Our own limiter says nothing about the provider's health, so the gate does not hear of this failure.
 */
const noTicketFailure = ({ provider, model, retry }: ModelTarget, startsIn: number): ModelFailure => ({
  code: "rate_limited",
  retryable: true,
  retryAfterMs: Math.max(startsIn, retry.maxWait + 1),
  provider,
  model,
  message: "the provider's rate limit leaves no place in time",
});

/** Asks the gate for the ticket of a call that is about to leave. */
export const requestTicket = async (
  { host, places, signal }: WorkContext,
  { id, lane, booked, input, output }: ModelCall,
): Promise<TicketResult> => {
  if (lane.gate === null || booked) return { is: "free" };
  if (signal.aborted) return { is: "late" };
  const { status, startAt } = await places.ask(lane, { id, input, maxOutput: output });
  if (signal.aborted) return { is: "late" };
  const now = host.now();
  if (status === "rate_limited") return { is: "failed", failure: noTicketFailure(lane, startAt - now) };
  if (status === "booked" && startAt <= now) return { is: "free" };
  return { is: "wait", until: startAt, booked: status === "booked" };
};

/** Describes how a call that left ended; `known` means that its provider, or the network to it, failed as expected. */
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

/** Makes a call that holds its ticket and stores its outcome; `exhausted` means that its target was given up. */
export const runModelCall = async <T extends { readonly exhausted: boolean }>(
  { host, places, signal }: WorkContext,
  { id, lane }: ModelCall,
  request: () => ModelRequest,
  store: (outcome: ModelCallOutcome) => T | Promise<T>,
  options: Pick<CompleteOptions, "onDelta"> = {},
): Promise<T> => {
  places.used(lane, id);
  let outcome: ModelCallOutcome;
  try {
    outcome = {
      ok: true,
      reply: await lane.completer.complete(request(), { signal, timers: host, ...options }),
    };
  } catch (error) {
    outcome = failedOutcome(lane, error);
  }
  let exhausted = false;
  try {
    const stored = await store(outcome);
    ({ exhausted } = stored);
    return stored;
  } finally {
    places.ended(lane, id, { ...settlementOf(outcome), exhausted });
  }
};

/** Holds a session's tickets at the gates: calls that asked for them use them, and all others are given back. */
export interface Tickets {
  /** Asks for a call's ticket, which is given back unless the state goes on to want it. */
  readonly ask: (
    lane: ModelTarget,
    request: Pick<ReserveRequest, "id" | "input" | "maxOutput">,
  ) => Promise<ReserveAnswer>;
  /** Marks a ticket as used, because its call leaves now. */
  readonly used: (lane: ModelTarget, id: string) => void;
  /** Notifies the gate that a call which left has ended. */
  readonly ended: (lane: ModelTarget, id: string, outcome: Omit<GateSettlement, "model">) => void;
  /** Gives back the tickets that the state does not want any more. */
  readonly review: (session: Pick<Session, "id" | "threads">) => void;
  /** Gives back every ticket of a removed session, including those that are still being asked for. */
  readonly leave: () => void;
}

type TicketRef = Pick<Ticket, "provider" | "id">;

/** Returns the ticket that a thread's call waits for. */
const awaitedTicketOf = (
  { id: session }: Pick<Session, "id">,
  { id: thread, run }: Thread,
): TicketRef | null => {
  if (run?.phase.at === "preparing") return run.phase.place ?? null;
  if (run?.phase.at !== "waiting" || run.phase.why !== "gate") return null;
  const { attempt, lanes } = run.phase;
  const provider = lanes.list[lanes.current]?.provider ?? "";
  return { provider, id: ticketId(session, thread, attemptId(run, attempt)) };
};

/** Returns the ticket of the call that a thread is making. */
const takenTicketOf = (
  { id: session }: Pick<Session, "id">,
  { id: thread, run }: Thread,
): (TicketRef & { model: string }) | null => {
  if (run?.phase.at === "preparing") {
    const { calling } = run.phase;
    return calling?.place === undefined ? null : { ...calling.place, model: calling.model };
  }
  if (run?.phase.at !== "thinking") return null;
  const { attempt, lanes } = run.phase;
  const { provider, model } = lanes.list[lanes.current] ?? { provider: "", model: "" };
  return { provider, model, id: ticketId(session, thread, attemptId(run, attempt)) };
};

/** Frees the slot of a call that was lost with an older isolate; the tokens it may have used stay booked. */
const releaseLostTicket = (host: Host, thread: Thread): void => {
  const place = takenTicketOf(host.read(), thread);
  if (place === null) return;
  const { provider, model, id } = place;
  // The model may have been changed since, and the targets of that call are unknown then.
  const target = allTargets(host.agent(thread.id)).find((each) => each.provider === provider);
  if (target?.gate === null) return;
  host.gate(provider).ended(id, true, { model, code: "cancelled", exhausted: false, usage: null });
};

const ticketKeyOf = ({ provider, id }: TicketRef): string => `${provider} ${id}`;

/** Creates the tickets of a session and reads what an older isolate left before anything changes it. */
export const createTickets = (host: Host): Tickets => {
  const { id, threads } = host.read();
  const placesIn = (
    session: Pick<Session, "id" | "threads">,
    of: (session: Pick<Session, "id">, thread: Thread) => TicketRef | null,
  ): readonly TicketRef[] => Object.values(session.threads).flatMap((thread) => of(session, thread) ?? []);
  /** Holds the tickets that no call has used yet. */
  const unused = new Map(placesIn(host.read(), awaitedTicketOf).map((place) => [ticketKeyOf(place), place]));
  let lost = Object.values(threads).filter((thread) => takenTicketOf({ id }, thread) !== null);
  let removed = false;
  const review: Tickets["review"] = (session) => {
    for (const thread of lost) releaseLostTicket(host, thread);
    lost = [];
    if (unused.size === 0) return;
    const wanted = new Set(
      [...placesIn(session, awaitedTicketOf), ...placesIn(session, takenTicketOf)].map(ticketKeyOf),
    );
    for (const [key, place] of unused) {
      if (wanted.has(key)) continue;
      host.gate(place.provider).release(place.id);
      unused.delete(key);
    }
  };
  return {
    ask: async ({ provider, gate }, request) => {
      if (gate === null) return { status: "booked", startAt: 0 };
      const place = { provider, id: request.id };
      unused.delete(ticketKeyOf(place));
      const answer = await host.gate(provider).reserve({ ...request, ...gate });
      if (answer.status !== "rate_limited") unused.set(ticketKeyOf(place), place);
      if (removed) review({ id, threads: {} });
      return answer;
    },
    used: ({ provider }, call) => void unused.delete(ticketKeyOf({ provider, id: call })),
    ended: ({ provider, model, gate }, call, outcome) =>
      host.gate(provider).ended(call, gate !== null, { model, ...outcome }),
    review,
    leave: () => {
      removed = true;
      review({ id, threads: {} });
    },
  };
};
