import type { Lane } from "../agent/definition/agent.ts";
import { everyLane } from "../agent/definition/agent.ts";
import type { GatePlace } from "../agent/state/run.ts";
import { placeId } from "../agent/state/run.ts";
import type { Session } from "../agent/state/session.ts";
import type { Thread } from "../agent/state/thread.ts";
import { attemptId } from "../agent/turn/turns.ts";
import type { CompleteOptions, Completion, ModelRequest } from "../model/completer.ts";
import type { ModelFailure } from "../model/error.ts";
import { ModelError } from "../model/error.ts";
import type { ReserveAnswer, ReserveRequest, Settlement } from "../model/gate.ts";
import type { Host } from "./host.ts";
import type { Outside } from "./work.ts";

/** A model call, whoever makes it: its provider's gate is asked for a place before, and told of its end after. */
export interface ModelCall {
  /** Names it at the gate. */
  readonly id: string;
  readonly lane: Lane;
  /** It has waited for its place, and has it. */
  readonly booked: boolean;
  /** Estimated input tokens, and output tokens it may have. */
  readonly input: number;
  readonly output: number;
}

/** `wait`: it leaves at `until`, or (`booked` false) asks again then. `late`: nobody wants it any more. */
type Placed =
  | { readonly is: "free" }
  | { readonly is: "late" }
  | { readonly is: "wait"; readonly until: number; readonly booked: boolean }
  | { readonly is: "failed"; readonly failure: ModelFailure };

/**
 * The lane is given up: its place is too far off, and who waited that long for a slot would wait again as long.
 * Our own limiter says nothing about the provider's health, so the gate is not told of this.
 */
const noPlace = ({ provider, model, retry }: Lane, startsIn: number): ModelFailure => ({
  code: "rate_limited",
  retryable: true,
  retryAfterMs: Math.max(startsIn, retry.maxWait + 1),
  provider,
  model,
  message: "the provider's rate limit leaves no place in time",
});

/** The gate's place for a call that is about to leave. */
export const placeFor = async (
  { host, places, signal }: Outside,
  { id, lane, booked, input, output }: ModelCall,
): Promise<Placed> => {
  if (lane.gate === null || booked) return { is: "free" };
  if (signal.aborted) return { is: "late" };
  const { status, startAt } = await places.ask(lane, { id, input, maxOutput: output });
  if (signal.aborted) return { is: "late" };
  const now = host.now();
  if (status === "rate_limited") return { is: "failed", failure: noPlace(lane, startAt - now) };
  if (status === "booked" && startAt <= now) return { is: "free" };
  return { is: "wait", until: startAt, booked: status === "booked" };
};

/** What came of a call that left; `known` = its provider, or the way there, failed as such things do. */
export type Outcome =
  | { readonly ok: true; readonly reply: Completion }
  | { readonly ok: false; readonly failure: ModelFailure; readonly known: boolean };

const failed = ({ provider, model }: Lane, error: unknown): Outcome => {
  if (error instanceof ModelError) return { ok: false, failure: error.failure, known: true };
  const message = `the request could not be made: ${error instanceof Error ? error.name : "error"}`;
  const failure = { code: "invalid_request", retryable: false, provider, model, message } as const;
  return { ok: false, failure, known: false };
};

const endOf = (outcome: Outcome): Pick<Settlement, "code" | "usage" | "holdUntil"> => {
  if (!outcome.ok) return { code: outcome.failure.code, usage: null, holdUntil: outcome.failure.holdUntil };
  const { usage, holdUntil } = outcome.reply;
  return { code: "ok", usage, holdUntil };
};

/** Makes a call that has its place, and stores what came of it; `exhausted` = its lane was given up. */
export const made = async <T extends { readonly exhausted: boolean }>(
  { places, signal }: Outside,
  { id, lane }: ModelCall,
  request: () => ModelRequest,
  store: (outcome: Outcome) => T | Promise<T>,
  options: Pick<CompleteOptions, "onDelta"> = {},
): Promise<T> => {
  places.used(lane, id);
  let outcome: Outcome;
  try {
    outcome = { ok: true, reply: await lane.completer.complete(request(), { signal, ...options }) };
  } catch (error) {
    outcome = failed(lane, error);
  }
  let exhausted = false;
  try {
    const stored = await store(outcome);
    ({ exhausted } = stored);
    return stored;
  } finally {
    places.ended(lane, id, { ...endOf(outcome), exhausted });
  }
};

/** The places that a session has at gates: taken by the calls that asked for them, or given back. */
export interface Places {
  /** Asks for a call's place; it is given back unless the state goes on to want it. */
  readonly ask: (
    lane: Lane,
    request: Pick<ReserveRequest, "id" | "input" | "maxOutput">,
  ) => Promise<ReserveAnswer>;
  /** A call leaves: its place is used. */
  readonly used: (lane: Lane, id: string) => void;
  /** A call that left has ended; its gate is told. */
  readonly ended: (lane: Lane, id: string, outcome: Omit<Settlement, "model">) => void;
  /** Gives back what the state does not want any more. */
  readonly review: (session: Pick<Session, "id" | "threads">) => void;
  /** The session is removed: gives all back, also what is being asked for. */
  readonly leave: () => void;
}

type Place = Pick<GatePlace, "provider" | "id">;

/** The place that a thread's call waits for. */
const awaitedBy = ({ id: session }: Pick<Session, "id">, { id: thread, run }: Thread): Place | null => {
  if (run?.phase.at === "preparing") return run.phase.place ?? null;
  if (run?.phase.at !== "waiting" || run.phase.why !== "gate") return null;
  const { attempt, lanes } = run.phase;
  const provider = lanes.list[lanes.current]?.provider ?? "";
  return { provider, id: placeId(session, thread, attemptId(run, attempt)) };
};

/** The place of the call that a thread is making. */
const takenBy = (
  { id: session }: Pick<Session, "id">,
  { id: thread, run }: Thread,
): (Place & { model: string }) | null => {
  if (run?.phase.at === "preparing") {
    const { calling } = run.phase;
    return calling?.place === undefined ? null : { ...calling.place, model: calling.model };
  }
  if (run?.phase.at !== "thinking") return null;
  const { attempt, lanes } = run.phase;
  const { provider, model } = lanes.list[lanes.current] ?? { provider: "", model: "" };
  return { provider, model, id: placeId(session, thread, attemptId(run, attempt)) };
};

/** What a thread of an older isolate was calling is lost: it holds its slot no longer, but what it may have used stays booked. */
const slotFreed = (host: Host, thread: Thread): void => {
  const place = takenBy(host.read(), thread);
  if (place === null) return;
  const { provider, model, id } = place;
  // Another model may have been chosen since: then its lanes are not known any more.
  const lane = everyLane(host.agent(thread.id)).find((each) => each.provider === provider);
  if (lane?.gate === null) return;
  host.gate(provider).ended(id, true, { model, code: "cancelled", exhausted: false, usage: null });
};

const keyOf = ({ provider, id }: Place): string => `${provider} ${id}`;

/** Reads what an older isolate left before anything changes it. */
export const createPlaces = (host: Host): Places => {
  const { id, threads } = host.read();
  const placesIn = (
    session: Pick<Session, "id" | "threads">,
    of: (session: Pick<Session, "id">, thread: Thread) => Place | null,
  ): readonly Place[] => Object.values(session.threads).flatMap((thread) => of(session, thread) ?? []);
  /** Places that no call uses yet. */
  const unused = new Map(placesIn(host.read(), awaitedBy).map((place) => [keyOf(place), place]));
  let lost = Object.values(threads).filter((thread) => takenBy({ id }, thread) !== null);
  let removed = false;
  const review: Places["review"] = (session) => {
    for (const thread of lost) slotFreed(host, thread);
    lost = [];
    if (unused.size === 0) return;
    const wanted = new Set([...placesIn(session, awaitedBy), ...placesIn(session, takenBy)].map(keyOf));
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
      unused.delete(keyOf(place));
      const answer = await host.gate(provider).reserve({ ...request, ...gate });
      if (answer.status !== "rate_limited") unused.set(keyOf(place), place);
      if (removed) review({ id, threads: {} });
      return answer;
    },
    used: ({ provider }, call) => void unused.delete(keyOf({ provider, id: call })),
    ended: ({ provider, model, gate }, call, outcome) =>
      host.gate(provider).ended(call, gate !== null, { model, ...outcome }),
    review,
    leave: () => {
      removed = true;
      review({ id, threads: {} });
    },
  };
};
