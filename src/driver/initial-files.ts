import { settleInitialFiles } from "../agent/stores/initial-files.ts";
import type { InitialFile, LostFile } from "../agent/state/files.ts";
import type { FileChange, Sandbox } from "../sandbox/contract.ts";
import { SandboxError } from "../sandbox/contract.ts";
import { fromBase64 } from "../tools/base64.ts";
import type { Host } from "./host.ts";

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
  if (initialFiles == null) return;
  const changes: FileChange[] = [];
  const lost: LostFile[] = [];
  for (const file of initialFiles) {
    const placed = await placeFile(host, sandbox, file);
    if ("reason" in placed) lost.push(placed);
    else changes.push(...placed);
  }
  host.update((draft) => settleInitialFiles(draft, changes, lost));
};
