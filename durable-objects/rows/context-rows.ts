import type { Cause, Message, MessageOverlay } from "../../src/chat/message.ts";
import { viewPlaceOf } from "../../src/chat/message.ts";
import type { PastChat } from "../../src/session/context-view.ts";
import type { MessageRow } from "./encode.ts";
import { messageColumns, messageJson, overlayJson } from "./encode.ts";

/** This file reads past rows, from which the context view is rebuilt. */

/** Rebuilds the chat of a thread as it was after an edit, up to a message. */
export const rebuildChat = (sql: SqlStorage, thread: string, edit: number, pos: number): PastChat => {
  const overlays = new Map(
    sql
      .exec<{ pos: number; edit: number; json: string }>(
        "SELECT pos, edit, json FROM overlays WHERE thread = ? AND edit <= ? ORDER BY edit",
        thread,
        edit,
      )
      .toArray()
      .map((row) => [row.pos, JSON.parse(overlayJson(sql, thread, row)) as MessageOverlay]),
  );
  const all = sql
    .exec<MessageRow & { retired: number; cause: string | null }>(
      `SELECT ${messageColumns}, retired, r.json AS cause FROM messages m LEFT JOIN retirements r ON edit = retired
       WHERE thread = ? AND pos <= ? ORDER BY pos`,
      thread,
      pos,
    )
    .toArray()
    .map((row) => {
      const message = JSON.parse(messageJson(sql, thread, row)) as Message;
      const overlay = overlays.get(row.pos);
      const cause = row.cause === null ? null : (JSON.parse(row.cause) as Cause);
      return { edit: row.retired, cause, message: overlay === undefined ? message : { ...message, overlay } };
    });
  const isGone = (row: { readonly edit: number }): boolean => row.edit > 0 && row.edit <= edit;
  return {
    shown: all
      .filter((row) => !isGone(row))
      .map(({ message }) => message)
      .sort((a, b) => viewPlaceOf(a) - viewPlaceOf(b)),
    gone: all.filter(isGone),
  };
};

/** Reads a message as it was written, with what became of it since. */
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
