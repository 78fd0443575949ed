import type { ModelTarget } from "../agent/definition/agent.ts";
import { allTargets } from "../agent/definition/agent.ts";
import type { Ticket } from "../agent/state/phase.ts";
import { awaitedTicketOf, modelCallOf } from "../agent/state/phase.ts";
import type { Session } from "../agent/state/session.ts";
import type { Thread } from "../agent/state/thread.ts";
import type { GateSettlement, ReserveAnswer, ReserveRequest } from "../model/gate.ts";
import type { Host } from "./host.ts";
import type { Embedder } from "../agent/definition/memory.ts";
import { estimateText } from "../chat/tokens.ts";
import type { ModelErrorCode } from "../model/error.ts";
import { asModelError } from "../model/failure.ts";

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
export const reportCallEnd = (
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
