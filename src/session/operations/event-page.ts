import { utf8Length } from "../../chat/tokens.ts";
import type { LoggedEvent } from "../event-lines.ts";
import { pageBytes } from "../paging.ts";

/** This file filters the log of events and cuts it into pages. */

/** Names the types and threads of which a reader wants events; null stands for all. */
export interface EventFilter {
  readonly types: readonly string[] | null;
  readonly threads: readonly string[] | null;
}

/** Returns whether an event passes a filter; cursors stay valid, since each event keeps its `seq`. */
export const matchesFilter = (
  { type, thread }: Pick<LoggedEvent, "type" | "thread">,
  { types, threads }: EventFilter,
): boolean => (types === null || types.includes(type)) && (threads === null || threads.includes(thread));

/** Says which events a page takes, and how many lines and bytes it holds at most. */
interface EventQuery {
  readonly filter: EventFilter;
  readonly before: number;
  readonly limit: number;
  readonly bytes: number;
}

/** A page reads so many events and characters of the log at most to find those that are wanted, and may then be short. */
const mostRead = { events: 10_000, characters: 4 * pageBytes };

/**
 * Takes the first events that are wanted and fit a page; `read` counts all events up to the end of the page. The lines
 * of the others are not built, since that reads whole messages.
 */
export const takeEvents = (
  events: Iterable<LoggedEvent>,
  { filter, before, limit, bytes: most }: EventQuery,
): { readonly lines: readonly string[]; readonly read: number } => {
  const lines: string[] = [];
  let [read, bytes, characters] = [0, 0, 0];
  for (const event of events) {
    if (event.seq >= before) break;
    const line = matchesFilter(event, filter) ? event.line() : null;
    bytes += line === null ? 0 : utf8Length(line);
    if (lines.length > 0 && bytes > most) break;
    if (line !== null) lines.push(line);
    read += 1;
    characters += event.length;
    if (lines.length === limit || read === mostRead.events || characters > mostRead.characters) break;
  }
  return { lines, read };
};
