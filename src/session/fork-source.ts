import type { PastView } from "../agent/state/records.ts";
import type { Session } from "../agent/state/session.ts";
import type { Thread } from "../agent/state/thread.ts";
import type { StoredBlob } from "../agent/transaction/draft.ts";

/** Lists what a fork has of its source: what its creator chose, and the numbers that its messages must not use again. */
export const inheritedFields = [
  "agent",
  "prefix",
  "title",
  "named",
  "metadata",
  "revision",
  "interactive",
  "tools",
  "clientTools",
  "model",
  "modelScope",
  "budget",
  "outputSchema",
  "retentionDays",
  "external",
  "nextRun",
  "nextInput",
  "nextBlob",
] as const satisfies readonly (keyof Session)[];

/** Holds what a fork takes from its source, whose chat of `main` it begins with. */
export interface ForkSource {
  readonly source: string;
  readonly session: Pick<Session, (typeof inheritedFields)[number]>;
  readonly past: PastView;
  readonly history: Thread["history"];
  readonly recordMarks: Thread["recordMarks"];
  /** Is true if the source has used a workspace, whose files a fork does not get. */
  readonly hadWorkspace: boolean;
  /** Holds the stored texts and bytes to which the messages refer. */
  readonly blobs: readonly StoredBlob[];
}
