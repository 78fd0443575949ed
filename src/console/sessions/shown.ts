import type { Transcript } from "../../client/transcript.ts";
import type { App } from "../state/app.ts";
import type { SessionList } from "../state/sessions.ts";
import type { SessionRow } from "./status.ts";

/** The list of sessions together with what the page knows of the session that it shows. */

export type KnownRows = Pick<SessionList, "rows" | "asks">;

/** Puts the session that is shown into the list as its transcript has it: the list is a few seconds late. */
const withShown = (
  list: SessionList,
  { session, status, asks, usage, runs }: Transcript,
  lostAt: number,
): KnownRows => {
  if (session === null) return list;
  const { id } = session;
  const ended = runs.findLast(({ thread, ended_at: at }) => thread === "main" && at !== null);
  const known = list.rows.find((row) => row.id === id);
  // A list that was read since the connection was lost knows more, but for a session that it was never told of.
  if (status === "closed" || (known !== undefined && list.at > lostAt)) return list;
  const end =
    ended === undefined ? (known?.last_end ?? null) : { state: ended.state, reason: ended.reason ?? "" };
  const row: SessionRow = { ...session, usage, last_end: end };
  const rows =
    known === undefined ? [row, ...list.rows] : list.rows.map((each) => (each === known ? row : each));
  const kind = asks.find((ask) => ask.kind !== "client_tool")?.kind;
  const others = [...list.asks].filter(([other]) => other !== id);
  return { rows, asks: new Map(kind === undefined ? others : [...others, [id, kind]]) };
};

/** Returns the rows of the list as the page shows it now; while one searches, they are what the server has found. */
export const readRows = ({ sessions, session }: Pick<App, "sessions" | "session">): KnownRows => {
  const list = sessions.list.get();
  const control = session.get();
  return control === null || sessions.query.get() !== ""
    ? list
    : withShown(list, control.open.getSnapshot(), control.lostAt() ?? Infinity);
};
