import type { InitialFile, LostFile, PendingFileChange } from "../agent/state/files.ts";
import {
  dropFileChange,
  postponeFileChange,
  settleFileChange,
  settleInitialFiles,
} from "../agent/stores/workspace-files.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import type { FileChange, Sandbox, ChangeOutcome } from "../sandbox/contract.ts";
import { SandboxError } from "../sandbox/contract.ts";
import { fromBase64 } from "../tools/base64.ts";
import type { Host } from "./host.ts";
import type { WorkContext } from "./work.ts";

/** Writes one file and returns its changes, or why the workspace refuses it; throws if another try may help. */
const placeFile = async (
  { media }: Pick<Host, "media">,
  sandbox: Sandbox,
  { path, blob, encoding }: InitialFile,
): Promise<readonly FileChange[] | LostFile> => {
  const text = media(blob);
  const content = encoding === "base64" ? fromBase64(text) : text;
  try {
    const { changes } = await sandbox.write(path, content, { key: `initial:${blob}` });
    return changes.map(({ path: placed, op }) => ({ path: placed, op }));
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    if (error.isUnavailable) throw error;
    return { path, reason: error.message };
  }
};

/**
 * Puts the files of the session's creation into its workspace before its first use. After a crash it begins
 * again: nothing has used the workspace by then, and keys keep a late writer from writing twice.
 */
export const placeInitialFiles = async (
  host: Pick<Host, "read" | "update" | "media">,
  sandbox: Sandbox,
): Promise<void> => {
  const { initialFiles } = host.read();
  if (initialFiles.length === 0) return;
  const changes: FileChange[] = [];
  const lost: LostFile[] = [];
  for (const file of initialFiles) {
    const placed = await placeFile(host, sandbox, file);
    if ("reason" in placed) lost.push(placed);
    else changes.push(...placed);
  }
  host.update((draft) => settleInitialFiles(draft, changes, lost));
};

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
