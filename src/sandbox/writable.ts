import { escapeGlob, globFault, matchesGlob } from "./glob.ts";

/** Returns why an entry of `writable_paths` is not valid, or null: relative, at most one `**` as a whole segment. */
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
    return "has ** next to other characters; ** must be a whole path segment";
  }
  return globFault(entry);
}

/** Returns an entry without leading `./` and trailing `/`. */
const plainEntry = (entry: string): string => entry.replace(/^(\.\/)+/, "").replace(/\/$/, "");

/** Converts entries relative to a folder to entries relative to the workspace. */
export const writableFrom = (directory: string, entries: readonly string[]): readonly string[] =>
  directory === "." ? entries : entries.map((entry) => `${escapeGlob(directory)}/${plainEntry(entry)}`);

/**
 * Returns whether a normalised workspace path may be written. Absent = no limit; a list without valid entry allows
 * nothing.
 */
export function mayWrite(writablePaths: readonly string[] | undefined, path: string): boolean {
  if (writablePaths === undefined) return true;
  return writablePaths.some(
    (entry) => writablePathProblem(entry) === null && matchesGlob(plainEntry(entry), path),
  );
}

/** Returns whether one segment of a glob covers another. */
const segmentCovers = (wide: string, narrow: string): boolean =>
  wide === narrow || wide === "*" || (!/[*?[\]\\]/.test(narrow) && matchesGlob(wide, narrow));

const coversPath = (wide: readonly string[], narrow: readonly string[]): boolean => {
  const [first, ...rest] = wide;
  const [next, ...others] = narrow;
  if (first === undefined || next === undefined) return first === next;
  if (first === "**") return coversPath(rest, others) || coversPath(wide, others);
  return next !== "**" && segmentCovers(first, next) && coversPath(rest, others);
};

/**
 * Returns the globs of `given` and `own` that allow nothing the other list forbids: the result is narrower than
 * either.
 */
export const narrowPaths = (own: readonly string[], given: readonly string[]): readonly string[] => {
  const within = (one: string, list: readonly string[]): boolean =>
    list.some((each) => coversPath(plainEntry(each).split("/"), plainEntry(one).split("/")));
  return [
    ...new Set([...given.filter((one) => within(one, own)), ...own.filter((one) => within(one, given))]),
  ];
};

/** Narrows lists, of which either may be null, which limits nothing. */
export const narrowOptionalPaths = (
  own: readonly string[] | null,
  given: readonly string[] | null,
): readonly string[] | null => (own === null || given === null ? (own ?? given) : narrowPaths(own, given));

/** Returns the segments of a pattern before its first wildcard. */
const literalStart = (pattern: string): readonly string[] => {
  const segments = plainEntry(pattern).split("/");
  const wild = segments.findIndex((segment) => /[*?[\\]/.test(segment));
  return wild < 0 ? segments : segments.slice(0, wild);
};

/** Returns the folder that contains everything an entry matches. */
const folderStart = (entry: string): readonly string[] => {
  const start = literalStart(entry);
  return start.length === plainEntry(entry).split("/").length ? start.slice(0, -1) : start;
};

/** Returns whether a list keeps writers from everything that a pattern matches; commands are limited by folder. */
export const leavesOut = (writablePaths: readonly string[] | undefined, pattern = "**"): boolean => {
  if (writablePaths === undefined) return false;
  const guarded = literalStart(pattern);
  return writablePaths
    .filter((entry) => writablePathProblem(entry) === null)
    .every((entry) =>
      folderStart(entry).some((segment, at) => at < guarded.length && segment !== guarded[at]),
    );
};

/** Folder of the team's skills: agents read it, only the runtime writes it, and people do not see it. */
export const skillsFolder = ".skills";

/** Returns whether a path is the skills folder or lies inside it. */
export const isOfSkills = (path: string): boolean =>
  path === skillsFolder || path.startsWith(`${skillsFolder}/`);

/** Returns whether a path is closed to every file tool: git hooks and configuration, and the skills folder. */
export function isProtected(path: string): boolean {
  if (isOfSkills(path)) return true;
  const segments = path.split("/");
  return segments.some((segment, index) => {
    if (segment !== ".git") return false;
    const inside = segments.slice(index + 1);
    const last = inside.at(-1) ?? "";
    return inside.length === 0 || inside.includes("hooks") || last === "config" || last === "config.worktree";
  });
}
