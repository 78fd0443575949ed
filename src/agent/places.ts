import type { Host } from "./host.ts";
import type { Session } from "./state.ts";

/** Places at gates that attempts of this isolate wait for (MO-29). */
export interface Places {
  readonly take: (thread: string, attempt: number, provider: string, id: string) => void;
  /** Gives back the places whose attempt will not take them any more. */
  readonly review: (session: Session) => void;
}

export const createPlaces = (host: Host): Places => {
  const places = new Map<
    string,
    { readonly attempt: number; readonly provider: string; readonly id: string }
  >();
  return {
    take: (thread, attempt, provider, id) => {
      places.set(thread, { attempt, provider, id });
    },
    review: (session) => {
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
