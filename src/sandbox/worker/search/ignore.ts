import { createGlobMatcher } from "../../glob.ts";

/** Line of an ignore file, as a test of paths relative to that file's folder. */
interface IgnoreRule {
  readonly negated: boolean;
  readonly foldersOnly: boolean;
  readonly matches: (path: string) => boolean;
}

/** Rules of one ignore file, and the folder that they apply to. */
export interface IgnoreFile {
  readonly folder: string;
  /** Characters of all rules. */
  readonly length: number;
  readonly rules: readonly IgnoreRule[];
}

export const ignoreFileNames = [".gitignore", ".ignore"];

const alwaysIgnored = new Set([".git", "node_modules"]);

/** Removes spaces at the end, except one after a backslash. */
function withoutBlankEnd(line: string): string {
  let end = line.length;
  while (end > 0 && /\s/.test(line.charAt(end - 1)) && line[end - 2] !== "\\") end -= 1;
  return line.slice(0, end);
}

/** Number of rules that are read, more than real lists have; each rule is tried for each file. */
const mostRules = 1_000;

function parseRule(line: string): IgnoreRule | null {
  const text = withoutBlankEnd(line);
  if (text === "" || text.startsWith("#")) return null;
  const negated = text.startsWith("!");
  const body = negated ? text.slice(1) : text;
  const foldersOnly = body.endsWith("/");
  const pattern = foldersOnly ? body.slice(0, -1) : body;
  const anchored = pattern.includes("/");
  const glob = pattern.replace(/^\//, "");
  return { negated, foldersOnly, matches: createGlobMatcher(anchored ? glob : `**/${glob}`) };
}

/** Parses a `.gitignore` or `.ignore`. */
export const parseIgnoreFile = (folder: string, text: string): IgnoreFile => ({
  folder,
  length: text.length,
  rules: text
    .split("\n")
    .flatMap((line) => parseRule(line) ?? [])
    .slice(0, mostRules),
});

/** Returns whether a search ignores a path: the last matching rule decides, and nearer files take precedence. */
export function isIgnored(files: readonly IgnoreFile[], path: string, isFolder: boolean): boolean {
  if (alwaysIgnored.has(path.slice(path.lastIndexOf("/") + 1))) return true;
  let ignored = false;
  for (const { folder, rules } of files) {
    const relative = folder === "." ? path : path.slice(folder.length + 1);
    for (const rule of rules) {
      if (rule.foldersOnly && !isFolder) continue;
      if (rule.matches(relative)) ignored = !rule.negated;
    }
  }
  return ignored;
}
