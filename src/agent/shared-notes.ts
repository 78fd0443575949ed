import type { NoteHead } from "../tools/stores.ts";

/** Notes that live outside the session: of an agent, or of the whole tenant (AG-47). */
export interface SharedNotes {
  read(name: string): Promise<string | null>;
  /** By name. */
  list(): Promise<readonly NoteHead[]>;
  /** Writes once for each `key`. Answers why it cannot; null if it was done. */
  write(note: { readonly name: string; readonly content: string }, key: string): Promise<string | null>;
}
