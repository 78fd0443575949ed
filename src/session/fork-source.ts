import type { PastView } from "../agent/state/records.ts";
import type { Session } from "../agent/state/session.ts";
import type { Thread } from "../agent/state/thread.ts";
import type { StoredBlob } from "../agent/transaction/draft.ts";

/**
 * What a fork has of its source: the creator's choices, and the numbers that its messages must not use again.
 */
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

/** What a fork takes from its source, whose chat of `main` it begins with. */
export interface ForkSource {
  readonly source: string;
  readonly session: Pick<Session, (typeof inheritedFields)[number]>;
  readonly past: PastView;
  readonly history: Thread["history"];
  readonly recordMarks: Thread["recordMarks"];
  /** Whether the source has used a workspace, whose files a fork does not get. */
  readonly hadWorkspace: boolean;
  /** Stored texts and bytes to which the messages refer. */
  readonly blobs: readonly StoredBlob[];
}
