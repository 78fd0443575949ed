/** How a called thread's agent differs from the same agent in `main`; fixed anew at each start (AG-13, AG-14, AG-19, AG-20). */
export interface Standing {
  /** Agents of the threads above, from `main` down to the caller. */
  readonly chain: readonly string[];
  /** Its caller takes its questions (AG-28). */
  readonly interactive: boolean;
  /** The caller's choice of a provider. */
  readonly provider: string | null;
  /** Globs that narrow what it may write; null: the agent's own alone. */
  readonly writablePaths: readonly string[] | null;
  /** A nameless agent: the caller's, but for this (AG-14). */
  readonly adHoc: { readonly system: string; readonly maxTurns: number } | null;
}

/** Where the standing of a called agent's run is kept: its thread gets another one with its next task (EF-42). */
export const standingBlob = (run: string): string => `standing:${run}`;
