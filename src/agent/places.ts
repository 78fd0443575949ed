import type { Host } from "./host.ts";
import type { Session } from "./state.ts";
import { attemptId } from "./turns.ts";

/** Places at gates that attempts wait for, and those that a lost isolate left (MO-29). */
export interface Places {
  readonly take: (thread: string, attempt: number, provider: string, id: string) => void;
  /** Gives back the places whose attempt will not take them any more. */
  readonly review: (session: Session) => void;
}

interface Place {
  readonly attempt: number;
  readonly provider: string;
  readonly id: string;
}

/** Names an attempt for its provider's gate. */
export const placeId = (session: string, thread: string, attempt: string): string =>
  `${session}:${thread}:${attempt}`;

/** What the attempts of an older isolate hold: they wait still, or had left and are lost. */
const placesLeft = (session: Session, at: "waiting" | "thinking"): readonly (readonly [string, Place])[] =>
  Object.values(session.threads).flatMap(({ id: thread, run }) => {
    if (run === null || run.phase.at !== at) return [];
    if (run.phase.at === "waiting" && run.phase.why !== "gate") return [];
    const { attempt, lanes } = run.phase;
    const provider = lanes.list[lanes.current]?.provider ?? "";
    return [[thread, { attempt, provider, id: placeId(session.id, thread, attemptId(run, attempt)) }]];
  });

/** A lost call holds its slot no longer; what it may have used stays booked. */
const slotFreed = (host: Host, thread: string, { provider, id }: Place): void => {
  const lane = host.agent(thread).lanes.find((each) => each.provider === provider && each.gate !== null);
  if (lane === undefined) return;
  const { model } = lane;
  host.gate(provider).ended(id, true, { model, code: "cancelled", exhausted: false, usage: null });
};

/** Reads what an older isolate left before anything changes it. */
export const createPlaces = (host: Host): Places => {
  const places = new Map<string, Place>(placesLeft(host.read(), "waiting"));
  let lost = placesLeft(host.read(), "thinking");
  return {
    take: (thread, attempt, provider, id) => {
      places.set(thread, { attempt, provider, id });
    },
    review: (session) => {
      for (const [thread, place] of lost) slotFreed(host, thread, place);
      lost = [];
      for (const [thread, { attempt, provider, id }] of places) {
        const phase = session.threads[thread]?.run?.phase;
        const taken = phase?.at === "thinking" && phase.attempt === attempt;
        if (phase?.at === "waiting" && phase.attempt === attempt) continue;
        if (!taken) host.gate(provider).release(id);
        places.delete(thread);
      }
    },
  };
};
