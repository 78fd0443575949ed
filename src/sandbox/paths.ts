import { SandboxError } from "./contract.ts";

/** Folder at which commands and the wire see the workspace. */
export const workspaceRoot = "/workspace";

const refuseOutside = (path: string, why: string): never => {
  throw new SandboxError("path_outside", `${JSON.stringify(path)} ${why}; use a path inside the workspace`);
};

/** Returns the part of an absolute path below the mount; null for any other path. */
function belowMount(path: string): string | null {
  if (path === workspaceRoot) return "";
  return path.startsWith(`${workspaceRoot}/`) ? path.slice(workspaceRoot.length) : null;
}

/** Refuses a text that cannot be a path. */
function checkCharacters(raw: string): void {
  if (raw.includes("\0")) refuseOutside(raw, "contains a NUL character");
  if (raw.length > 4096) refuseOutside(raw.slice(0, 80), "is longer than 4096 characters");
  if (!raw.isWellFormed()) refuseOutside(raw, "holds half a character");
}

/**
 * Normalises a path relative to the workspace, without `.`, `..`, doubled or trailing slashes; the root itself is
 * `.`. `/workspace/x` is the same as `x`. NUL, half a character, `..` beyond the root and other absolute paths are
 * refused with `path_outside`.
 */
export function workspacePath(raw: string): string {
  checkCharacters(raw);
  const below = belowMount(raw);
  if (below === null && raw.startsWith("/")) return refuseOutside(raw, "is outside the workspace");
  const kept: string[] = [];
  for (const segment of (below ?? raw).split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") kept.push(segment);
    else if (kept.pop() === undefined) return refuseOutside(raw, "leads out of the workspace");
  }
  return kept.join("/") || ".";
}

/** Returns a path relative to a folder of the workspace, not yet normalised; an absolute one stays. */
export const pathFrom = (directory: string, path: string): string =>
  directory === "." || path.startsWith("/") ? path : `${directory}/${path}`;

/** Returns the parent folder of a workspace path; the root is its own parent. */
export const folderOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf("/"), 0)) || ".";

/** Returns the last segment of a workspace path. */
export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
