import type { Json } from "../../chat/message.ts";
import type { MemoryRow } from "../definition/memory.ts";
import type { Outbox, Reflection } from "../state/records.ts";
import { postpone } from "../state/wait.ts";
import type { Draft } from "../transaction/draft.ts";
import { writeEntry } from "../transaction/entries.ts";

/** The outbox holds rows for the tenant's object until it has taken them, each row once by its id. */

/** Number beyond which the oldest lessons are dropped while the tenant's object does not take them. */
const mostRows = 32;

/** Most rows of one delivery. */
export const mostMemories = 32;

/** Number of failed deliveries after which memories are sent without vectors. */
export const mostEmbeddings = 5;

/** Pauses between deliveries that fail, in milliseconds. */
const firstPause = 2_000;

const longestPause = 300_000;

const outboxOf = ({ state, context }: Draft): Outbox =>
  state.outbox ?? { rows: [], tries: 0, until: context.now };

export const postReflection = (draft: Draft, row: Reflection): void => {
  const outbox = outboxOf(draft);
  draft.state.outbox = { ...outbox, rows: [...outbox.rows, row].slice(-mostRows) };
};

/** Gives a memory a row of its own until it is taken, so that none is given up. */
export const postMemory = (draft: Draft, row: MemoryRow): void => {
  draft.state.outbox = outboxOf(draft);
  writeEntry(draft, "outbox", `${String(row.at).padStart(16, "0")}.${row.id}`, row as unknown as Json);
};

/** Result of a delivery. */
export interface DeliveryResult {
  /** The ids of lessons and the keys of entries that were taken. */
  readonly taken: ReadonlySet<string>;
  readonly whole: boolean;
}

/** Removes what was taken; what is left is sent later, after a pause if a part of the delivery failed. */
export const recordDelivery = (draft: Draft, { taken, whole }: DeliveryResult): void => {
  const outbox = outboxOf(draft);
  const rows = outbox.rows.filter(({ id }) => !taken.has(id));
  const memories = draft.context.entries.heads("outbox");
  const stored = memories.filter(({ key }) => taken.has(key));
  for (const { key } of stored) writeEntry(draft, "outbox", key, undefined);
  const { now } = draft.context;
  const left = whole
    ? { rows, tries: 0, until: now }
    : { ...postpone(outbox, now, firstPause, longestPause), rows };
  draft.state.outbox = rows.length + memories.length === stored.length ? null : left;
};
