import type { Json } from "../../chat/message.ts";
import { utf8Length } from "../../chat/tokens.ts";
import { firstLine } from "../../tools/stores.ts";
import type { EntryReader, EntryStore } from "../state/records.ts";
import type { Draft, StoredAnswer } from "./draft.ts";

/** Entries of the shared stores are rows of their own beside the live state, read when they are needed. */

/** Reads an entry as this draft leaves it. */
export const readEntry = (draft: Draft, store: EntryStore, key: string): ReturnType<EntryReader["entry"]> => {
  const written = draft.entries.findLast((each) => each.store === store && each.key === key);
  if (written === undefined) return draft.context.entries.entry(store, key);
  const { json, revision } = written;
  return json === null ? null : { value: JSON.parse(json) as Json, revision };
};

/** Writes an entry without an event; undefined removes it. */
export const writeEntry = (
  draft: Draft,
  store: EntryStore,
  key: string,
  value: Json | undefined,
  revision = 0,
): void => {
  const json = value === undefined ? null : JSON.stringify(value);
  const head = store === "notes" && typeof value === "string" ? firstLine(value) : "";
  draft.entries.push({ store, key, revision, size: json === null ? 0 : utf8Length(json), head, json });
};

/** Keeps answers to commands with keys, so that a repeated command gets the answer of the first. */

const dayMs = 86_400_000;

/** Milliseconds for which an answer is kept. */
export const answersKeptMs = 7 * dayMs;

/** Stores an answer; removes expired ones once a day, since finding them reads them all. */
export const keepAnswer = (draft: Draft, answer: StoredAnswer): void => {
  draft.answers.push(answer);
  const since = answer.at - answersKeptMs;
  if (since - (draft.state.keysSince ?? -Infinity) < dayMs) return;
  draft.state.keysSince = since;
};
