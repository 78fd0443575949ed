import type { Cause, Message, MessageOverlay } from "../../src/chat/message.ts";
import { viewPlaceOf } from "../../src/chat/message.ts";
import type { PastMessage, PastView } from "../../src/agent/state/records.ts";
import type { MessageRow } from "./encode.ts";
import { messageColumns, messageJson, overlayJson } from "./encode.ts";

/** Reads past rows, from which the context view is rebuilt. */

interface RestoredJson {
  readonly restored: { readonly thread: string; readonly messages: readonly (readonly [number, number])[] };
}

/** Finds, for messages that were out of the view at an edit and came back later, the edit that had taken them out. */
const findAbsent = (sql: SqlStorage, thread: string, edit: number): ReadonlyMap<number, number> =>
  new Map(
    sql
      .exec<{ json: string }>(
        "SELECT json FROM retirements WHERE edit > ? AND json ->> '$.restored.thread' = ? ORDER BY edit DESC",
        edit,
        thread,
      )
      .toArray()
      .flatMap(({ json }) => (JSON.parse(json) as RestoredJson).restored.messages)
      .filter(([, gone]) => gone <= edit),
  );

interface PastRow extends MessageRow {
  readonly retired: number;
}

const overlaysThen = (sql: SqlStorage, thread: string, edit: number): ReadonlyMap<number, MessageOverlay> =>
  new Map(
    sql
      .exec<{ pos: number; edit: number; json: string }>(
        "SELECT pos, edit, json FROM overlays WHERE thread = ? AND edit <= ? ORDER BY edit",
        thread,
        edit,
      )
      .toArray()
      .map((row) => [row.pos, JSON.parse(overlayJson(sql, thread, row)) as MessageOverlay]),
  );

const causeOf = (sql: SqlStorage, edit: number): Cause | null => {
  const [row] = sql.exec<{ json: string }>("SELECT json FROM retirements WHERE edit = ?", edit).toArray();
  return row === undefined ? null : (JSON.parse(row.json) as Cause);
};

/** Rebuilds the chat of a thread as it was after an edit, up to a message. */
export const rebuildChat = (
  sql: SqlStorage,
  thread: string,
  edit: number,
  pos: number,
): Pick<PastView, "shown" | "gone"> => {
  const overlays = overlaysThen(sql, thread, edit);
  const absent = findAbsent(sql, thread, edit);
  const changed = new Set(
    sql
      .exec<{ pos: number }>("SELECT pos FROM overlays WHERE thread = ? AND edit > ?", thread, edit)
      .toArray()
      .map((row) => row.pos),
  );
  const causes = new Map<number, Cause | null>();
  const shown: PastMessage[] = [];
  const gone: PastView["gone"][number][] = [];
  const query = `SELECT ${messageColumns}, retired FROM messages m WHERE thread = ? AND pos <= ? ORDER BY pos`;
  for (const row of sql.exec<PastRow>(query, thread, pos).toArray()) {
    const { retired } = row;
    const original = JSON.parse(messageJson(sql, thread, row)) as Message;
    const overlay = overlays.get(row.pos);
    const message = overlay === undefined ? original : { ...original, overlay };
    const left = absent.get(row.pos) ?? (retired <= edit ? retired : 0);
    if (left === 0) shown.push({ message, retired, changed: changed.has(row.pos) });
    else {
      if (!causes.has(left)) causes.set(left, causeOf(sql, left));
      gone.push({ message, edit: left, cause: causes.get(left) ?? null });
    }
  }
  return { shown: shown.sort((a, b) => viewPlaceOf(a.message) - viewPlaceOf(b.message)), gone };
};

/** Reads a message as it was written, and whether it was retired or changed since. */
export const readOriginal = (sql: SqlStorage, thread: string, pos: number): string => {
  const row = sql
    .exec<MessageRow & { retired: number; by: string | null; reason: string | null }>(
      `SELECT ${messageColumns}, retired, r.json ->> '$.effect' AS by, r.json ->> '$.reason' AS reason
       FROM messages m LEFT JOIN retirements r ON edit = retired WHERE thread = ? AND pos = ?`,
      thread,
      pos,
    )
    .one();
  const [newest] = sql
    .exec<{ pos: number; edit: number; json: string }>(
      "SELECT pos, edit, json FROM overlays WHERE thread = ? AND pos = ? ORDER BY edit DESC LIMIT 1",
      thread,
      pos,
    )
    .toArray();
  const overlay = newest === undefined ? null : overlayJson(sql, thread, newest);
  const whole = overlay === null || overlay.includes('"texts":{}');
  const state = row.retired > 0 ? "retired" : whole ? "full" : "overlaid";
  const now = { state, retired_by: row.by, retired_for: row.reason };
  const shown = overlay === null ? "" : `,"overlay":${overlay}`;
  return `${messageJson(sql, thread, row).slice(0, -1)},${JSON.stringify(now).slice(1, -1)}${shown}}`;
};
