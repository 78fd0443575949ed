import { cleanText } from "../chat/text.ts";
import type { Sandbox } from "../sandbox/contract.ts";
import { SandboxError } from "../sandbox/contract.ts";

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
