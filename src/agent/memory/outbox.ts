import type { Json } from "../../chat/message.ts";
import type { MemoryRow } from "../definition/memory.ts";
import type { Outbox, Reflection } from "../state/records.ts";
import type { Draft } from "../transaction/draft.ts";
import { writeEntry } from "../transaction/entries.ts";

/** What a session has to tell the team's object: kept until it was taken, each row once by its id. */

/** While nobody takes them, the oldest lessons leave. */
const mostRows = 32;

/** Rows of one delivery. */
export const mostMemories = 32;

/** Failed deliveries after which what is remembered goes without vectors. */
export const mostEmbeddings = 5;

export const firstPause = 2_000;

export const longestPause = 300_000;

export const outboxOf = ({ state, moment }: Draft): Outbox =>
  state.outbox ?? { rows: [], tries: 0, until: moment.now };

export const postReflection = (draft: Draft, row: Reflection): void => {
  const outbox = outboxOf(draft);
  draft.state = { ...draft.state, outbox: { ...outbox, rows: [...outbox.rows, row].slice(-mostRows) } };
};

/** What is remembered has a row of its own until it is taken: none is given up. */
export const postMemory = (draft: Draft, row: MemoryRow): void => {
  const outbox = outboxOf(draft);
  draft.state = { ...draft.state, outbox: { ...outbox, memories: (outbox.memories ?? 0) + 1 } };
  writeEntry(draft, "outbox", `${String(row.at).padStart(16, "0")}.${row.id}`, row as unknown as Json);
};

/** What a delivery achieved. */
export interface DeliveryResult {
  /** Ids of lessons, and keys of entries. */
  readonly taken: ReadonlySet<string>;
  readonly whole: boolean;
}
