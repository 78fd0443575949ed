import type { Json } from "../chat/message.ts";
import type { Draft } from "./draft.ts";
import { entryWritten } from "./entries.ts";
import type { Host } from "./host.ts";
import type { EmbeddedRow, MemoryRow } from "./memory.ts";
import type { Outside } from "./outside.ts";
import type { Reflection } from "./reflections.ts";
import type { Session } from "./state.ts";

/** What a session has to tell the team's object: kept until it was taken, each row once by its id. */

export interface Outbox {
  readonly rows: readonly Reflection[];
  /** Entries of the store `outbox`: what is remembered. Absent: none. */
  readonly memories?: number;
  /** Failed deliveries in a row. */
  readonly tries: number;
  /** When the next one may begin. */
  readonly until: number;
}

/** While nobody takes them, the oldest lessons leave. */
const mostRows = 32;
/** Rows of one delivery. */
const mostMemories = 32;
/** Failed deliveries after which what is remembered goes without vectors. */
const mostEmbeddings = 5;
const firstPause = 2_000;
const longestPause = 300_000;

const outboxOf = ({ state, moment }: Draft): Outbox =>
  state.outbox ?? { rows: [], tries: 0, until: moment.now };

export const posted = (draft: Draft, row: Reflection): void => {
  const outbox = outboxOf(draft);
  draft.state = { ...draft.state, outbox: { ...outbox, rows: [...outbox.rows, row].slice(-mostRows) } };
};

/** What is remembered has a row of its own until it is taken: none is given up. */
export const memoryPosted = (draft: Draft, row: MemoryRow): void => {
  const outbox = outboxOf(draft);
  draft.state = { ...draft.state, outbox: { ...outbox, memories: (outbox.memories ?? 0) + 1 } };
  entryWritten(draft, "outbox", `${String(row.at).padStart(16, "0")}.${row.id}`, row as unknown as Json);
};

/** What a delivery achieved. */
interface Delivered {
  /** Ids of lessons, and keys of entries. */
  readonly taken: ReadonlySet<string>;
  readonly whole: boolean;
}

const delivered = (draft: Draft, { taken, whole }: Delivered): void => {
  const { rows, memories = 0, tries } = outboxOf(draft);
  const left = rows.filter(({ id }) => !taken.has(id));
  const gone = draft.moment.entries.heads("outbox").filter(({ key }) => taken.has(key));
  for (const { key } of gone) entryWritten(draft, "outbox", key, undefined);
  const count = memories - gone.length;
  const pause = whole ? 0 : Math.min(longestPause, firstPause * 2 ** Math.min(tries, 20));
  const outbox = {
    rows: left,
    memories: count,
    tries: whole ? 0 : tries + 1,
    until: draft.moment.now + pause,
  };
  draft.state = { ...draft.state, outbox: left.length + count === 0 ? null : outbox };
};

/** Names the delivery that is due; null if there is none. */
export const deliveryOf = ({ outbox = null }: Session, now: number): string | null =>
  outbox === null || outbox.until > now ? null : `outbox:${outbox.tries}`;

/** Rows with the vectors of their texts, as far as their agents have any; rejects if these cannot be had yet. */
const embedded = async (
  { host, signal }: Outside,
  rows: readonly MemoryRow[],
  tries: number,
): Promise<readonly EmbeddedRow[]> => {
  const byAgent = [...Map.groupBy(rows, ({ agent }) => agent)];
  const done = await Promise.all(
    byAgent.map(async ([agent, own]): Promise<readonly EmbeddedRow[]> => {
      const embedder = tries < mostEmbeddings ? host.embedder(agent) : null;
      const texts = own.map(({ text }) => text);
      const vectors = (await embedder?.embed(texts, signal)) ?? [];
      return own.map((row, at) => ({ ...row, vector: vectors[at] ?? null }));
    }),
  );
  return done.flat();
};

/** Ids of what was taken; null if it was not. */
const taken = async (
  ids: readonly string[],
  work: () => Promise<void>,
): Promise<readonly string[] | null> => {
  if (ids.length === 0) return [];
  try {
    await work();
  } catch {
    return null;
  }
  return ids;
};

const memoriesOf = ({ entries }: Host): readonly (readonly [string, MemoryRow])[] =>
  entries
    .heads("outbox")
    .slice(0, mostMemories)
    .flatMap(({ key }) => {
      const value = entries.entry("outbox", key)?.value ?? null;
      return value === null ? [] : [[key, value as unknown as MemoryRow] as const];
    });

/** Sends what is there; what failed is sent again later, and changes no run. */
export const deliver = async (outside: Outside): Promise<void> => {
  const { host, settle } = outside;
  const { rows = [], memories: count = 0, tries = 0 } = host.read().outbox ?? {};
  const ttlMs = host.briefing.reflections?.ttlMs ?? 0;
  const memories = count === 0 ? [] : memoriesOf(host);
  const ids = rows.map(({ id }) => id);
  const keys = memories.map(([key]) => key);
  const all = await Promise.all([
    taken(ids, () => host.reflections.add(host.redactor.value(rows), ttlMs)),
    taken(keys, async () =>
      host.memory.add(await embedded(outside, host.redactor.value(memories.map(([, row]) => row)), tries)),
    ),
  ]);
  const done = all.flatMap((each) => each ?? []);
  settle((draft) => delivered(draft, { taken: new Set(done), whole: all.every((each) => each !== null) }));
};
