import type { EditRow, PastPlace, PastView, TurnBoundary } from "../../src/agent/state/records.ts";
import { callsOf } from "../../src/chat/view.ts";
import type { EventText } from "../../src/session/event-lines.ts";
import { rebuildChat } from "./context-rows.ts";
import type { LogRow } from "./event-log.ts";
import { readLogBackwards } from "./event-log.ts";
import { findAnsweredCall, ledgerEndAt } from "./ledger.ts";

/** Finds a place in the past of a thread between its turns, and the chat as it was there. */

interface NumberedEvent {
  readonly seq: number;
  readonly event: EventText;
}

/** Lists the events of a row that belong to a thread, the newest first. */
const eventsOf = ({ first, events }: LogRow, thread: string): readonly NumberedEvent[] =>
  events
    .map((event, index) => ({ seq: first + index, event }))
    .filter(({ event }) => event.scope.startsWith(`"thread":${JSON.stringify(thread)},`))
    .reverse();

/** Returns the place of the message that an event reports; null if it reports none. */
const reportedPos = ({ type, data }: EventText): number | null => {
  if (type !== "message_added") return null;
  const [, pos] = /^[mn](\d+) /.exec(data) ?? [];
  if (pos !== undefined) return Number(pos);
  return (JSON.parse(data) as { readonly message: { readonly pos: number } }).message.pos;
};

const isAt = (at: PastPlace, { seq, event }: NumberedEvent): boolean =>
  "seq" in at ? seq <= at.seq : reportedPos(event) === at.pos;

/** Yields the events of a thread, the newest first, on demand. */
const eventsBackwards = (sql: SqlStorage, thread: string): IteratorObject<NumberedEvent> =>
  readLogBackwards(sql).flatMap((row) => eventsOf(row, thread));

/**
 * Returns the number of the event at a place, or of its turn's end if no message follows in the turn. A message that a
 * rewind brought back has several events: the first is its place.
 */
const findEvent = (sql: SqlStorage, thread: string, at: PastPlace): number | null => {
  let end: number | null = null;
  let found: number | null = null;
  for (const each of eventsBackwards(sql, thread)) {
    const { seq, event } = each;
    if (event.type === "turn_end") end = seq;
    if (isAt(at, each)) {
      if ("seq" in at) return end ?? at.seq;
      found = end ?? seq;
    }
    if (event.type === "turn_start" || event.type === "message_added") end = null;
  }
  return "seq" in at ? at.seq : found;
};

/** Returns the newest event before the turn boundary at or before an event. */
const roundDown = (sql: SqlStorage, thread: string, seq: number): number => {
  const turn = eventsBackwards(sql, thread).find(
    ({ seq: at, event: { type } }) => at <= seq && (type === "turn_start" || type === "turn_end"),
  );
  return turn?.event.type === "turn_start" ? turn.seq - 1 : seq;
};

/** Lists the places of the messages that a thread's events have reported up to one of them. */
const readReported = (sql: SqlStorage, thread: string, seq: number): ReadonlySet<number> =>
  new Set(
    eventsBackwards(sql, thread)
      .filter(({ seq: at }) => at <= seq)
      .map(({ event }) => reportedPos(event))
      .filter((pos) => pos !== null),
  );

/** Describes a thread at an event, from the log. */
const describeBoundary = (
  sql: SqlStorage,
  thread: string,
  seq: number,
  reported: ReadonlySet<number>,
): TurnBoundary => {
  const edits = (): IteratorObject<EditRow> =>
    readLogBackwards(sql)
      .filter(({ first }) => first <= seq)
      .flatMap((row) => row.edits.map((json) => JSON.parse(json) as EditRow).reverse())
      .filter(({ after }) => after < seq);
  const answered = findAnsweredCall(sql, thread, ledgerEndAt(seq));
  return {
    seq,
    edit: edits().find(() => true)?.edit ?? 0,
    pos: reported.values().reduce((newest, pos) => Math.max(newest, pos), -1),
    seen: answered?.saw?.pos ?? -1,
    lastUsage: answered?.usage ?? null,
    effects: edits().find(({ effects }) => effects?.thread === thread)?.effects?.states ?? {},
  };
};

/** Returns the messages without a reply at the end whose results are not all there. */
const wholeBlocks = (shown: PastView["shown"]): PastView["shown"] => {
  const at = shown.findLastIndex(({ message }) => message.role !== "tool");
  const reply = shown[at]?.message;
  const results = shown.length - 1 - at;
  return reply !== undefined && callsOf(reply).length > results ? shown.slice(0, at) : shown;
};

/** Reads the view of a thread at the turn boundary before a place; null if the place is unknown. */
export const readPastView = (sql: SqlStorage, thread: string, at: PastPlace): PastView | null => {
  const seq = findEvent(sql, thread, at);
  if (seq === null) return null;
  const end = roundDown(sql, thread, seq);
  const reported = readReported(sql, thread, end);
  const boundary = describeBoundary(sql, thread, end, reported);
  const { shown, gone } = rebuildChat(sql, thread, boundary.edit, boundary.pos);
  // A fork reports its first messages in the order of its view, so that a later number may come first.
  const then = shown.filter(({ message }) => reported.has(message.pos));
  return { ...boundary, shown: wholeBlocks(then), gone };
};
