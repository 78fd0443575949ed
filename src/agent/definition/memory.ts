import type { NoteHead } from "../../tools/stores.ts";
import type { Reflection } from "../state/records.ts";
import type { ModelTarget } from "./agent.ts";

/** Shared notes live outside the session and belong to an agent or to the whole tenant. */
export interface SharedNotes {
  read(name: string): Promise<string | null>;
  /** The notes are sorted by name. */
  list(): Promise<readonly NoteHead[]>;
  /** Writes once for each `key` and returns why it cannot; null if it was done. */
  write(note: { readonly name: string; readonly content: string }, key: string): Promise<string | null>;
}

/** Texts of the same owner are one memory: `tenant`, `subject:<text>` or `session:<id>`. */
export type MemoryOwner = string;

/** A session hands over what is remembered as such rows. */
export interface MemoryRow {
  /** The id is made of the session, the run and, if a tool wrote it, the call. */
  readonly id: string;
  /** The time is in milliseconds since the epoch. */
  readonly at: number;
  readonly owner: MemoryOwner;
  readonly session: string;
  readonly run: string;
  readonly agent: string;
  readonly text: string;
  /** `session:<id>` and `agent:<name>` are among the tags. */
  readonly tags: readonly string[];
}

/** An embedded row has the vector of its text, if there is one. */
export interface EmbeddedRow extends MemoryRow {
  readonly vector: MemoryVector | null;
}

/** A vector is an embedding with the name of its maker: only vectors of one maker compare. */
export interface MemoryVector {
  readonly by: string;
  /** The base64 of signed bytes, scaled so that the greatest is 127. */
  readonly bytes: string;
}

/** A remembered text is shown in this form. */
export interface Memory {
  /** The number in the tenant's object. */
  readonly n: number;
  readonly at: number;
  readonly agent: string;
  readonly text: string;
  readonly tags: readonly string[];
}

/** A recalled text has a score of how well it fits, from 0 to 1. */
export interface RecalledMemory extends Memory {
  readonly score: number;
}

/** A chat already holds these memories, so they are not shown again. */
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
  /** So many of the newest are left out, since they are shown anyway. */
  readonly beyond: number;
}

/** The sessions of a tenant share this memory; each method may fail. */
export interface SharedMemory {
  /** Stores rows, each once. */
  add(rows: readonly EmbeddedRow[]): Promise<void>;
  /** Returns the newest texts, newest first. */
  recent(owner: MemoryOwner, limit: number, seen: RecallExclusions): Promise<readonly Memory[]>;
  /** Returns what fits a text, best first. */
  recall(owner: MemoryOwner, query: RecallQuery): Promise<readonly RecalledMemory[]>;
}

/** The embedder returns the vectors of texts in their order and rejects if it cannot. */
export interface Embedder {
  readonly provider: string;
  readonly model: string;
  /** Set if a rate limit is configured: each request reserves a ticket at the gate on these terms. */
  readonly gate: ModelTarget["gate"];
  readonly embed: (texts: readonly string[], signal: AbortSignal) => Promise<readonly MemoryVector[]>;
}

/** The definition sets these rules for an agent's memory. */
export interface MemoryRules {
  readonly scope: "subject" | "session" | "tenant";
  readonly recent: number;
  readonly limit: number;
  readonly threshold: number;
  readonly minWords: number;
  readonly write: boolean;
}

/** The sessions of a tenant share these lessons; both methods may fail. */
export interface SharedReflections {
  /** Stores rows, each once. */
  add(rows: readonly Reflection[], ttlMs: number): Promise<void>;
  /** Returns those about similar tasks. */
  find(task: string, ttlMs: number): Promise<readonly Reflection[]>;
}

/** The definition sets these rules for the briefing of a run. */
export interface BriefingRules {
  /** Workspace files become project context: bytes read of each and characters of all; null: none are read. */
  readonly context: { readonly fileBytes: number; readonly characters: number } | null;
  /** Lessons of failed runs are kept this long; null means that there are none. */
  readonly reflections: { readonly scope: "session" | "tenant"; readonly ttlMs: number } | null;
}
