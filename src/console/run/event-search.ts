import type { StoredEvent } from "../../client/index.ts";

/** Finds events by what one types, and says by which queries the API gives the same. */

interface FoundEvents {
  readonly found: readonly StoredEvent[];
  /** Each is a query of the list of events; there is none where nothing is found. */
  readonly queries: readonly string[];
}

/** Finds events whose type holds a text; where no type does, those of a thread, by its id or the name of its agent. */
export const searchEvents = (events: readonly StoredEvent[], text: string): FoundEvents => {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return { found: events, queries: [""] };
  const types = new Set(events.map(({ type }) => type).filter((type) => type.includes(wanted)));
  if (types.size > 0)
    return {
      found: events.filter(({ type }) => types.has(type)),
      queries: [`types=${[...types].join(",")}`],
    };
  const isWanted = ({ thread, agent }: StoredEvent): boolean =>
    thread === wanted || agent.name.toLowerCase().includes(wanted);
  const threads = new Set(events.filter(isWanted).map(({ thread }) => thread));
  return {
    found: events.filter(({ thread }) => threads.has(thread)),
    queries: [...threads].map((thread) => `thread=${encodeURIComponent(thread)}`),
  };
};
