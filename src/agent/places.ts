import type { ReserveAnswer, ReserveRequest, Settlement } from "../model/gate.ts";
import { everyLane } from "./agent.ts";
import type { Lane } from "./agent.ts";
import type { Host } from "./host.ts";
import { placeId } from "./place.ts";
import type { GatePlace } from "./place.ts";
import type { Session, Thread } from "./state.ts";
import { attemptId } from "./turns.ts";

/** The places that a session has at gates (MO-29): taken by the calls that asked for them, or given back. */
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
  // Another model may have been chosen since: then its lanes are not known any more (MO-38).
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
