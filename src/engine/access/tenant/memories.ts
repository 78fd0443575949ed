import * as z from "zod";
import { sessionOwner, subjectOwner } from "../../../agent/memory/memories.ts";
import type {
  EmbeddedRow,
  Memory,
  MemoryOwner,
  MemoryVector,
  RecalledMemory,
  RecallQuery,
  RecallExclusions,
  SharedMemory,
} from "../../../agent/definition/memory.ts";
import { wordsOf } from "../../../chat/text.ts";
import type { RunQuery, DatabaseRow, Tables, DatabaseValue } from "../database.ts";
import { isBuried } from "../once.ts";
import type { TenantStores } from "../rpc.ts";
import { cosineSimilarity, queryWords, selectCandidates, unpackVector } from "./recall.ts";

/** Stores the memories of agents, which the sessions of a tenant share. */

/** Number of texts of an owner; beyond it the oldest are deleted. */
const mostMemories = 10_000;
/** Number of texts that a recall compares: those found by words, and those found by vectors among the newest. */
const mostCandidates = 100;
const mostVectors = 2_000;
/** Milliseconds that a deleted owner is remembered, so that late rows from before are refused. */
const forgottenMs = 30 * 86_400_000;

interface OwnerRow {
  readonly id: number;
  /** Time up to which rows are refused. */
  readonly forgottenAt: number | null;
}

const findOwner = (all: RunQuery, owner: MemoryOwner): OwnerRow | null => {
  const [row] = all("SELECT id, forgotten_at FROM memory_owners WHERE owner = ?", owner);
  if (row === undefined) return null;
  const { forgotten_at: at = null } = row;
  return { id: Number(row["id"]), forgottenAt: at === null ? null : Number(at) };
};

const ensureOwner = (all: RunQuery, owner: MemoryOwner): OwnerRow => {
  all("INSERT OR IGNORE INTO memory_owners (owner) VALUES (?)", owner);
  return findOwner(all, owner) ?? { id: 0, forgottenAt: null };
};

const dropRows = (all: RunQuery, rows: readonly DatabaseRow[]): void => {
  for (const { n = null } of rows) {
    all("DELETE FROM memories WHERE n = ?", n);
    all("DELETE FROM memory_words WHERE rowid = ?", n);
  }
};

/** Returns whether a row was in flight when its owner or session was deleted. */
const isFromBefore = (all: RunQuery, owner: OwnerRow, row: EmbeddedRow): boolean => {
  if (owner.forgottenAt !== null && row.at <= owner.forgottenAt) return true;
  return row.owner === sessionOwner(row.session) && isBuried(all, row.session, row.createdAt);
};

const addRow = (all: RunQuery, owner: OwnerRow, row: EmbeddedRow): void => {
  if (isFromBefore(all, owner, row)) return;
  const [kept] = all(
    `INSERT OR IGNORE INTO memories (id, owner, at, session, run, agent, text, tags, made_by, vector)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING n`,
    row.id,
    owner.id,
    row.at,
    row.session,
    row.run,
    row.agent,
    row.text,
    JSON.stringify(row.tags),
    row.vector?.by ?? null,
    row.vector?.bytes ?? null,
  );
  if (kept === undefined) return;
  const words = wordsOf(`${row.text}\n${row.tags.join("\n")}`).join(" ");
  all(
    "INSERT INTO memory_words (rowid, owner, words) VALUES (?, ?, ?)",
    kept["n"] ?? null,
    tokenOf(owner),
    words,
  );
};

/** Returns an owner as a word of the index, so that a search covers only that owner's texts. */
const tokenOf = ({ id }: OwnerRow): string => `o${id}`;

/** Stores rows, each once by its id, and deletes the oldest beyond the limit. */
export const addMemories = (tables: Tables, rows: readonly EmbeddedRow[]): void =>
  tables.write((all) => {
    for (const name of new Set(rows.map(({ owner }) => owner))) {
      const owner = ensureOwner(all, name);
      for (const row of rows) if (row.owner === name) addRow(all, owner, row);
      const tooMany = all(
        "SELECT n FROM memories WHERE owner = ? ORDER BY at DESC, n DESC LIMIT -1 OFFSET ?",
        owner.id,
        mostMemories,
      );
      dropRows(all, tooMany);
    }
  });

const memoryColumns = "n, at, agent, text, tags";

const memoryOf = (row: DatabaseRow): Memory => ({
  n: Number(row["n"]),
  at: Number(row["at"]),
  agent: String(row["agent"]),
  text: String(row["text"]),
  tags: z.array(z.string()).parse(JSON.parse(String(row["tags"]))),
});

/** Condition that excludes what a chat already holds. */
const unseenCondition =
  "NOT (session = ? AND run IN (SELECT value FROM json_each(?))) AND n NOT IN (SELECT value FROM json_each(?))";
const unseenValues = ({ session, runs, told }: RecallExclusions): readonly DatabaseValue[] => [
  session,
  JSON.stringify(runs),
  JSON.stringify(told),
];

/** Returns an owner's newest texts, the newest first. */
export const recentMemories = (
  tables: Tables,
  name: MemoryOwner,
  limit: number,
  seen: RecallExclusions,
): readonly Memory[] => {
  const owner = findOwner(tables.read, name);
  if (owner === null) return [];
  return tables
    .read(
      `SELECT ${memoryColumns} FROM memories WHERE owner = ? AND ${unseenCondition} ORDER BY at DESC, n DESC LIMIT ?`,
      owner.id,
      ...unseenValues(seen),
      limit,
    )
    .map(memoryOf);
};

/** Returns the numbers of texts that share words with the query, the best first. */
const findByWords = (
  tables: Tables,
  owner: OwnerRow,
  words: ReadonlySet<string>,
  most: number,
): readonly number[] => {
  if (words.size === 0) return [];
  const any = [...words].map((word) => `"${word.replaceAll('"', '""')}"`).join(" OR ");
  return tables
    .read(
      "SELECT rowid AS n FROM memory_words WHERE memory_words MATCH ? ORDER BY bm25(memory_words, 0, 1) LIMIT ?",
      `owner:${tokenOf(owner)} AND words:(${any})`,
      most,
    )
    .map(({ n }) => Number(n));
};

/** Returns the numbers of texts whose vectors are near the query's, the nearest first. */
const findByVector = (
  tables: Tables,
  owner: OwnerRow,
  vector: MemoryVector | null,
): ReadonlyMap<number, number> => {
  if (vector === null) return new Map();
  const wanted = unpackVector(vector.bytes);
  const near = tables
    .read(
      "SELECT n, vector FROM memories WHERE owner = ? AND made_by = ? ORDER BY at DESC, n DESC LIMIT ?",
      owner.id,
      vector.by,
      mostVectors,
    )
    .map((row) => [Number(row["n"]), cosineSimilarity(wanted, unpackVector(String(row["vector"])))] as const)
    .toSorted(([, a], [, b]) => b - a);
  return new Map(near);
};

/** Returns the texts of an owner that match a query, the best first. */
export const recallMemories = (
  tables: Tables,
  name: MemoryOwner,
  { text, vector, limit, threshold, seen, beyond }: RecallQuery,
): readonly RecalledMemory[] => {
  const owner = findOwner(tables.read, name);
  if (owner === null || limit === 0) return [];
  const query = queryWords(text);
  const near = findByVector(tables, owner, vector);
  const newest = recentMemories(tables, name, beyond, seen).map(({ n }) => n);
  const most = mostCandidates + seen.told.length + newest.length;
  const numbers = new Set([...findByWords(tables, owner, query, most), ...[...near.keys()].slice(0, most)]);
  const candidates = tables
    .read(
      `SELECT ${memoryColumns} FROM memories WHERE owner = ? AND n IN (SELECT value FROM json_each(?)) AND ${unseenCondition}`,
      owner.id,
      JSON.stringify([...numbers]),
      ...unseenValues({ ...seen, told: [...seen.told, ...newest] }),
    )
    .map(memoryOf)
    .map((memory) => ({
      memory,
      words: new Set(wordsOf(`${memory.text}\n${memory.tags.join("\n")}`)),
      cosine: near.get(memory.n) ?? null,
    }));
  return selectCandidates(candidates, query, { limit, threshold }).map(
    ({ candidate: { memory }, score }) => ({
      ...memory,
      score: Math.round(score * 1e4) / 1e4,
    }),
  );
};

/** Deletes the memories of one session, together with the session. */
export const forgetSession = (all: RunQuery, session: string): void => {
  const owner = findOwner(all, sessionOwner(session));
  if (owner === null) return;
  dropRows(all, all("SELECT n FROM memories WHERE owner = ?", owner.id));
  all("DELETE FROM memory_owners WHERE id = ?", owner.id);
};

export const subjectSchema = z.strictObject({ subject: z.string().min(1).max(512) });

/** Deletes the memories of a subject (`metadata.subject`), including those still in flight. */
export const forgetSubject = (all: RunQuery, subject: string, now: number): void => {
  const { id } = ensureOwner(all, subjectOwner(subject));
  dropRows(all, all("SELECT n FROM memories WHERE owner = ?", id));
  all("UPDATE memory_owners SET forgotten_at = ? WHERE id = ?", now, id);
  all(
    "DELETE FROM memory_owners WHERE forgotten_at < ? AND id NOT IN (SELECT owner FROM memories)",
    now - forgottenMs,
  );
};

/** Creates a session's access to its tenant's memory. */
export const createSharedMemory = (stores: () => TenantStores): SharedMemory => ({
  add: (rows) => stores().addMemories(rows),
  recent: (owner, limit, seen) => stores().recentMemories(owner, limit, seen),
  recall: (owner, query) => stores().recallMemories(owner, query),
});
