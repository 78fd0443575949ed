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
import { fromBase64 } from "../sandbox/base64.ts";
import type { Host, WorkContext } from "./host.ts";
import { cleanText } from "../chat/text.ts";

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

/** Finds out the outcome of a person's change that was never reported; after that the change can no longer be made. */
export const settleLostChange = async (
  { host, settle }: WorkContext,
  change: PendingFileChange,
): Promise<void> => {
  const found = await findOutcome(host, change.id);
  settle((draft) => storeFound(draft, change, found));
};

/** Reads files of a workspace that need not exist. */

/** Codes with which the sandbox answers if there is no such path, or a file where a folder should be. */
const absentCodes: readonly string[] = ["workspace_read_not_found", "conflict"];

/** Returns `nothing` if there is no such path; throws other refusals. */
export const readOrDefault = async <T>(work: Promise<T>, nothing: T): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (error instanceof SandboxError && absentCodes.includes(error.code)) return nothing;
    throw error;
  }
};

/** Reads the first bytes of a file as text; returns an empty text if there is no such file. */
export const readText = async (sandbox: Sandbox, path: string, bytes: number): Promise<string> => {
  const stat = await readOrDefault(sandbox.stat(path), null);
  const length = Math.min(stat?.size ?? 0, bytes);
  if (stat?.type !== "file" || length === 0) return "";
  const content = await sandbox.read(path, { offset: 0, length });
  // A character that the byte limit cuts in two is left out.
  const text = new TextDecoder().decode(content, { stream: true });
  return cleanText(text.replaceAll("\r\n", "\n"));
};
