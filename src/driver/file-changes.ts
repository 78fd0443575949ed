import { dropFileChange, postponeFileChange, settleFileChange } from "../agent/stores/file-changes.ts";
import type { PendingFileChange } from "../agent/state/files.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import type { ChangeOutcome } from "../sandbox/contract.ts";
import { SandboxError } from "../sandbox/contract.ts";
import type { Host } from "./host.ts";
import type { WorkContext } from "./work.ts";

/** Asks the sandbox for the outcome of a change; returns the refusal if the sandbox does not know it. */
const findOutcome = async (host: Host, id: string): Promise<ChangeOutcome | null | SandboxError> => {
  try {
    return await host.sandbox().settle(id);
  } catch (error) {
    if (error instanceof SandboxError) return error;
    throw error;
  }
};

const storeFound = (
  draft: Draft,
  change: PendingFileChange,
  found: ChangeOutcome | null | SandboxError,
): void => {
  const { id } = change;
  if (found === null) return dropFileChange(draft, id);
  if (!(found instanceof SandboxError)) return void settleFileChange(draft, change, found);
  postponeFileChange(draft, id, !found.isUnavailable);
};

/**
 * Finds out the outcome of a person's change that was never reported; after that the change can no longer be
 * made.
 */
export const settleLostChange = async (
  { host, settle }: WorkContext,
  change: PendingFileChange,
): Promise<void> => {
  const found = await findOutcome(host, change.id);
  settle((draft) => storeFound(draft, change, found));
};
