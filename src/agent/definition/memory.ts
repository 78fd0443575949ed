import type { NoteHead } from "../../tools/stores.ts";
import type { Reflection } from "../state/records.ts";
import type { ModelTarget } from "./agent.ts";

/** Notes outside the session that belong to an agent or to the whole tenant. */
export interface SharedNotes {
  read(name: string): Promise<string | null>;
  /** Lists the notes, sorted by name. */
  list(): Promise<readonly NoteHead[]>;
  /** Writes once for each `key` and returns why it cannot; null if it was done. */
  write(note: { readonly name: string; readonly content: string }, key: string): Promise<string | null>;
}

/** Owner of a memory: `tenant`, `subject:<text>` or `session:<id>`. Texts of the same owner are one memory. */
export type MemoryOwner = string;

/** Row in which a session hands over what is remembered. */
export interface MemoryRow {
  /** Id made of the session, the run and, if a tool wrote the text, the call. */
  readonly id: string;
  /** Time in milliseconds since the epoch. */
  readonly at: number;
  readonly owner: MemoryOwner;
  readonly session: string;
  /** When that session was created, which tells it from an earlier one of its name. */
  readonly createdAt: number;
  readonly run: string;
  readonly agent: string;
  readonly text: string;
  /** Tags, among them `session:<id>` and `agent:<name>`. */
  readonly tags: readonly string[];
}

/** Row with the vector of its text, if there is one. */
export interface EmbeddedRow extends MemoryRow {
  readonly vector: MemoryVector | null;
}

/** Embedding with the name of its maker: only vectors of one maker compare. */
export interface MemoryVector {
  readonly by: string;
  /** The base64 of signed bytes, scaled so that the greatest is 127. */
  readonly bytes: string;
}

/** Remembered text as it is shown. */
export interface Memory {
  /** The number in the tenant's object. */
  readonly n: number;
  readonly at: number;
  readonly agent: string;
  readonly text: string;
  readonly tags: readonly string[];
}

/** Recalled text, with a score from 0 to 1 of how well it fits. */
export interface RecalledMemory extends Memory {
  readonly score: number;
}

/** Memories that a chat already holds, so they are not shown again. */
export interface RecallExclusions {
  readonly session: string;
  readonly runs: readonly string[];
  readonly told: readonly number[];
}

export interface RecallQuery {
  readonly text: string;
  readonly vector: MemoryVector | null;
  readonly limit: number;
  /** The least score. */
  readonly threshold: number;
  readonly seen: RecallExclusions;
  /** Number of the newest texts that are left out, since they are shown anyway. */
  readonly beyond: number;
}

/** Memory that the sessions of a tenant share; each method may fail. */
export interface SharedMemory {
  /** Stores rows, each once. */
  add(rows: readonly EmbeddedRow[]): Promise<void>;
  /** Returns the newest texts, newest first. */
  recent(owner: MemoryOwner, limit: number, seen: RecallExclusions): Promise<readonly Memory[]>;
  /** Returns what fits a text, best first. */
  recall(owner: MemoryOwner, query: RecallQuery): Promise<readonly RecalledMemory[]>;
}

/** Returns the vectors of texts in their order; rejects if it cannot. */
export interface Embedder {
  readonly provider: string;
  readonly model: string;
  /** Set if a rate limit is configured: each request reserves a ticket at the gate on these terms. */
  readonly gate: ModelTarget["gate"];
  readonly embed: (texts: readonly string[], signal: AbortSignal) => Promise<readonly MemoryVector[]>;
}

/** Rules for an agent's memory, from the definition. */
export interface MemoryRules {
  readonly scope: "subject" | "session" | "tenant";
  readonly recent: number;
  readonly limit: number;
  readonly threshold: number;
  readonly minWords: number;
  readonly write: boolean;
}

/** Lessons that the sessions of a tenant share; both methods may fail. */
export interface SharedReflections {
  /** Stores rows, each once. */
  add(rows: readonly Reflection[], ttlMs: number): Promise<void>;
  /** Returns those about similar tasks. */
  find(task: string, ttlMs: number): Promise<readonly Reflection[]>;
}

/** Rules for the briefing of a run, from the definition. */
export interface BriefingRules {
  /** Sizes of the project context from workspace files: bytes of each, characters of all; null: none is read. */
  readonly context: { readonly fileBytes: number; readonly characters: number } | null;
  /** How long lessons of failed runs are kept; null means that there are none. */
  readonly reflections: { readonly scope: "session" | "tenant"; readonly ttlMs: number } | null;
}
