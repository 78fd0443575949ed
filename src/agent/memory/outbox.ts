import type { Json } from "../../chat/message.ts";
import type { MemoryRow } from "../definition/memory.ts";
import type { Outbox, Reflection } from "../state/records.ts";
import type { Draft } from "../transaction/draft.ts";
import { writeEntry } from "../transaction/entries.ts";

/** The outbox holds rows for the tenant's object until they are taken, each row once by its id. */

/** While nobody takes them, the oldest lessons beyond this number are dropped. */
const mostRows = 32;

/** One delivery has this many rows at most. */
export const mostMemories = 32;

/** After so many failed deliveries, memories are sent without vectors. */
export const mostEmbeddings = 5;

export const firstPause = 2_000;

export const longestPause = 300_000;

export const outboxOf = ({ state, context }: Draft): Outbox =>
  state.outbox ?? { rows: [], tries: 0, until: context.now };

export const postReflection = (draft: Draft, row: Reflection): void => {
  const outbox = outboxOf(draft);
  draft.state.outbox = { ...outbox, rows: [...outbox.rows, row].slice(-mostRows) };
};

/** A memory has a row of its own until it is taken, so that none is given up. */
export const postMemory = (draft: Draft, row: MemoryRow): void => {
  draft.state.outbox = outboxOf(draft);
  writeEntry(draft, "outbox", `${String(row.at).padStart(16, "0")}.${row.id}`, row as unknown as Json);
};

/** A delivery had this result. */
export interface DeliveryResult {
  /** The ids of lessons and the keys of entries that were taken. */
  readonly taken: ReadonlySet<string>;
  readonly whole: boolean;
}
