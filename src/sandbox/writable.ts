import { globMatch } from "./glob.ts";

/** Why an entry of `writable_paths` is not valid (SE-22), or null: relative, with at most one `**` as a whole segment. */
export function writablePathProblem(entry: string): string | null {
  if (entry.trim() === "") return "is empty";
  if (entry.includes("\0")) return "contains a NUL character";
  if (entry.startsWith("/")) return "is absolute; write it relative to the workspace";
  if (entry.startsWith("~")) return "begins with ~; write it relative to the workspace";
  const segments = entry.split("/");
  if (segments.includes("..")) return "contains ..";
  if (/[{}]/.test(entry)) return "contains braces; write one entry for each alternative";
  if (segments.filter((segment) => segment === "**").length > 1) return "contains a second **";
  if (segments.some((segment) => segment.includes("**") && segment !== "**")) {
    return "has ** glued to other characters; ** must be a whole path segment";
  }
  return null;
}

/** Whether a normalised workspace path may be written. Absent = unbounded; a list without a valid entry allows nothing (TB-31). */
export function mayWrite(writablePaths: readonly string[] | undefined, path: string): boolean {
  if (writablePaths === undefined) return true;
  return writablePaths.some((entry) => {
    if (writablePathProblem(entry) !== null) return false;
    const glob = entry.replace(/^(\.\/)+/, "").replace(/\/$/, "");
    return globMatch(glob, path);
  });
}

/** Whether a path is out of bounds for every file tool: git hooks and configuration, and the skills folder (TB-30). */
export function isProtected(path: string): boolean {
  const segments = path.split("/");
  if (segments[0] === ".skills") return true;
  return segments.some((segment, index) => {
    if (segment !== ".git") return false;
    const inside = segments.slice(index + 1);
    const last = inside.at(-1) ?? "";
    return inside.length === 0 || inside.includes("hooks") || last === "config" || last === "config.worktree";
  });
}
