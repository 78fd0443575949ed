import type { NoteHead } from "../../tools/stores.ts";
import type { Reflection } from "../state/records.ts";
import type { ModelTarget } from "./agent.ts";

/** Notes that live outside the session: of an agent, or of the whole tenant. */
export interface SharedNotes {
  read(name: string): Promise<string | null>;
  /** By name. */
  list(): Promise<readonly NoteHead[]>;
  /** Writes once for each `key`. Answers why it cannot; null if it was done. */
  write(note: { readonly name: string; readonly content: string }, key: string): Promise<string | null>;
}

/** Texts of the same owner are one memory: `tenant`, `subject:<text>` or `session:<id>`. */
export type MemoryOwner = string;

/** What is remembered, as a session hands it over. */
export interface MemoryRow {
  /** Of the session, the run and, for one that a tool wrote, the call. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly owner: MemoryOwner;
  readonly session: string;
  readonly run: string;
  readonly agent: string;
  readonly text: string;
  /** `session:<id>` and `agent:<name>` among them. */
  readonly tags: readonly string[];
}

/** A row with the vector of its text, if there is one. */
export interface EmbeddedRow extends MemoryRow {
  readonly vector: MemoryVector | null;
}

/** An embedding, and what made it: only vectors of one maker compare. */
export interface MemoryVector {
  readonly by: string;
  /** Base64 of signed bytes, scaled so that the greatest is 127. */
  readonly bytes: string;
}

/** A remembered text as it is told. */
export interface Memory {
  /** Number in the team's object. */
  readonly n: number;
  readonly at: number;
  readonly agent: string;
  readonly text: string;
  readonly tags: readonly string[];
}

/** A recalled text and how well it fits, 0 to 1. */
export interface RecalledMemory extends Memory {
  readonly score: number;
}

/** What a chat holds already: it is not told again. */
export interface RecallExclusions {
  readonly session: string;
  readonly runs: readonly string[];
  readonly told: readonly number[];
}

export interface RecallQuery {
  readonly text: string;
  readonly vector: MemoryVector | null;
  readonly limit: number;
  /** Least score. */
  readonly threshold: number;
  readonly seen: RecallExclusions;
  /** So many of the newest are left out: they are told anyway. */
  readonly beyond: number;
}

/** The memory that the sessions of a tenant share; each may fail. */
export interface SharedMemory {
  /** Keeps rows, each once. */
  add(rows: readonly EmbeddedRow[]): Promise<void>;
  /** The newest, newest first. */
  recent(owner: MemoryOwner, limit: number, seen: RecallExclusions): Promise<readonly Memory[]>;
  /** What fits a text, best first. */
  recall(owner: MemoryOwner, query: RecallQuery): Promise<readonly RecalledMemory[]>;
}

/** Vectors of some texts, in their order; rejects if they cannot be had. */
export interface Embedder {
  readonly provider: string;
  readonly model: string;
  /** A rate limit is configured: each request books its place at the gate on these terms. */
  readonly gate: ModelTarget["gate"];
  readonly embed: (texts: readonly string[], signal: AbortSignal) => Promise<readonly MemoryVector[]>;
}

/** What the definition says of an agent's memory. */
export interface MemoryRules {
  readonly scope: "subject" | "session" | "tenant";
  readonly recent: number;
  readonly limit: number;
  readonly threshold: number;
  readonly minWords: number;
  readonly write: boolean;
}

/** Lessons that the sessions of a tenant share; both may fail. */
export interface SharedReflections {
  /** Keeps rows, each once. */
  add(rows: readonly Reflection[], ttlMs: number): Promise<void>;
  /** Those that are about the like of a task. */
  find(task: string, ttlMs: number): Promise<readonly Reflection[]>;
}

/** What the definition says of it. */
export interface BriefingRules {
  /** Files of the workspace become project context: bytes read of each, and characters of all; null: none are read. */
  readonly context: { readonly fileBytes: number; readonly characters: number } | null;
  /** Lessons of failed runs and how long they are kept; null: there are none. */
  readonly reflections: { readonly scope: "session" | "tenant"; readonly ttlMs: number } | null;
}
