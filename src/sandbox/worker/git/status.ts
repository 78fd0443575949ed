import { quoteName, readNames, relativeName } from "./names.ts";
import { changedModes, readHead, readIndex, readTree, readWorkTree, typeOfMode } from "./tracked-files.ts";
import type { TrackedFiles, WorkTree } from "./tracked-files.ts";

/** Line of a short status: `staged` and `unstaged` are its two letters. */
interface StatusEntry {
  readonly staged: string;
  readonly unstaged: string;
  readonly path: string;
  /** Previous name of a renamed file. */
  readonly from?: string;
}

interface Status {
  /** Line of the branch, if it was requested. */
  readonly branch: string;
  readonly tracked: readonly StatusEntry[];
  readonly untracked: readonly string[];
  readonly ignored: readonly string[];
  readonly isInitial: boolean;
}

export interface StatusOptions {
  readonly form: "long" | "short" | "porcelain";
  readonly hasBranch: boolean;
  /** Folder in which git runs, from the top of the repository. */
  readonly folder: string;
  /** Returns whether the paths of the command line let a path through. */
  readonly isIn: (path: string) => boolean;
  /** Files that are not tracked in place of those that the package names; null if none were asked for. */
  readonly untracked: readonly string[] | null | undefined;
  readonly ignored?: readonly string[];
}

/** Output of the package: its status for machines, and its long status up to the lists of files. */
interface StatusSources {
  readonly porcelain: string;
  readonly preamble: string;
}

function readEntry(line: string): StatusEntry | null {
  const [first, second] = readNames(line.slice(3));
  if (first === undefined) return null;
  const letters = { staged: line.charAt(0), unstaged: line.charAt(1) };
  return second === undefined ? { ...letters, path: first } : { ...letters, path: second, from: first };
}

/** Adds the files of which only the mode has changed, which the package does not detect. */
function addModes(
  entries: Map<string, StatusEntry>,
  side: "staged" | "unstaged",
  before: TrackedFiles,
  after: TrackedFiles,
): void {
  for (const [path, mode] of changedModes(before, after)) {
    const entry = entries.get(path) ?? { staged: " ", unstaged: " ", path };
    const isTypeChange = typeOfMode(mode) !== typeOfMode(before.get(path)?.mode ?? mode);
    if (entry[side] === " " || (isTypeChange && entry[side] === "M"))
      entries.set(path, { ...entry, [side]: isTypeChange ? "T" : "M" });
  }
}

/** Returns whether an untracked folder has replaced a tracked file, which git does not list. */
const isInPlaceOfFile = (path: string, index: TrackedFiles): boolean =>
  [...path.matchAll(/\//g)].some((slash) => index.has(path.slice(0, slash.index)));

const byPath = (one: StatusEntry, other: StatusEntry): number => (one.path < other.path ? -1 : 1);

async function readStatus(repository: WorkTree, porcelain: string, options: StatusOptions): Promise<Status> {
  const lines = porcelain.split("\n");
  const branch = lines.find((line) => line.startsWith("## ")) ?? "";
  const found = lines.flatMap((line) => (line.startsWith("## ") ? [] : (readEntry(line) ?? [])));
  const tracked = new Map(found.filter(({ staged }) => staged !== "?").map((entry) => [entry.path, entry]));
  const head = await readHead(repository);
  const { files: index } = await readIndex(repository);
  addModes(tracked, "staged", await readTree(repository, head), index);
  addModes(tracked, "unstaged", index, await readWorkTree(repository, index));
  const named = found.flatMap(({ staged, path }) => (staged === "?" ? [path] : []));
  const untracked = options.untracked === undefined ? named : (options.untracked ?? []);
  return {
    branch: head === null ? branch.replace(/^## (?!HEAD )/, "## No commits yet on ") : branch,
    tracked: [...tracked.values()].filter(({ path }) => options.isIn(path)).sort(byPath),
    untracked: untracked.filter((path) => options.isIn(path) && !isInPlaceOfFile(path, index)),
    ignored: (options.ignored ?? []).filter(options.isIn),
    isInitial: head === null,
  };
}

const conflicts: Readonly<Record<string, string>> = {
  DD: "both deleted",
  AU: "added by us",
  UD: "deleted by them",
  UA: "added by them",
  DU: "deleted by us",
  AA: "both added",
  UU: "both modified",
};

const changes: Readonly<Record<string, string>> = {
  A: "new file",
  M: "modified",
  D: "deleted",
  R: "renamed",
  T: "typechange",
};

const conflictOf = ({ staged, unstaged }: StatusEntry): string | undefined => conflicts[staged + unstaged];

function hintForConflicts(unmerged: readonly StatusEntry[]): string {
  const names = unmerged.map(conflictOf);
  if (names.every((name) => name === "both deleted")) return '  (use "git rm <file>..." to mark resolution)';
  return names.some((name) => name?.includes("deleted"))
    ? '  (use "git add/rm <file>..." as appropriate to mark resolution)'
    : '  (use "git add <file>..." to mark resolution)';
}

/** Returns the last line of a long status if nothing would be committed. */
function conclusionOf(
  { isInitial, untracked }: Status,
  { preamble, isListed }: { readonly preamble: string; readonly isListed: boolean },
  isStaged: boolean,
  isDirty: boolean,
): string {
  if (isStaged && !isListed) return "Untracked files not listed (use -u option to show untracked files)\n";
  if (isStaged || preamble.includes("\nAll conflicts fixed but you are still merging")) return "";
  if (isDirty) return 'no changes added to commit (use "git add" and/or "git commit -a")\n';
  if (untracked.length > 0)
    return 'nothing added to commit but untracked files present (use "git add" to track)\n';
  if (!isListed) return "nothing to commit (use -u to show untracked files)\n";
  return isInitial
    ? 'nothing to commit (create/copy files and use "git add" to track)\n'
    : "nothing to commit, working tree clean\n";
}

const firstList =
  /^(?:Changes to be committed:|Unmerged paths:|Changes not staged|Untracked files:|no(?:thing| changes) )/m;

/** Returns the text of a long status of the package before its lists of files. */
export const preambleOf = (text: string): string => {
  const at = text.search(firstList);
  return at < 0 ? text : text.slice(0, at);
};

type ShowName = (path: string) => string;

function writeLong(status: Status, preamble: string, show: ShowName, isListed: boolean): string {
  const unmerged = status.tracked.filter((entry) => conflictOf(entry) !== undefined);
  const merged = status.tracked.filter((entry) => conflictOf(entry) === undefined);
  const staged = merged.filter((entry) => entry.staged !== " ");
  const unstaged = merged.filter((entry) => entry.unstaged !== " ");
  const label = (letter: string, path: string, from?: string): string =>
    `${changes[letter] ?? ""}:`.padEnd(12) + (from === undefined ? "" : `${show(from)} -> `) + show(path);
  const list = (heading: string, hints: readonly string[], lines: readonly string[]): string =>
    lines.length === 0
      ? ""
      : `${[heading, ...hints.filter(Boolean), ...lines.map((line) => `\t${line}`)].join("\n")}\n\n`;
  const isPlain = !/^(?:You are currently cherry-picking|.*still merging|You have unmerged paths)/m.test(
    preamble,
  );
  const unstage = status.isInitial
    ? '  (use "git rm --cached <file>..." to unstage)'
    : '  (use "git restore --staged <file>..." to unstage)';
  const update = unstaged.some((entry) => entry.unstaged === "D") ? "add/rm" : "add";
  return [
    preamble,
    list(
      "Changes to be committed:",
      [isPlain ? unstage : ""],
      staged.map((entry) => label(entry.staged, entry.path, entry.from)),
    ),
    list(
      "Unmerged paths:",
      [isPlain ? unstage : "", hintForConflicts(unmerged)],
      unmerged.map((entry) => `${conflictOf(entry)}:`.padEnd(17) + show(entry.path)),
    ),
    list(
      "Changes not staged for commit:",
      [
        `  (use "git ${update} <file>..." to update what will be committed)`,
        '  (use "git restore <file>..." to discard changes in working directory)',
      ],
      unstaged.map((entry) => label(entry.unstaged, entry.path)),
    ),
    list(
      "Untracked files:",
      ['  (use "git add <file>..." to include in what will be committed)'],
      status.untracked.map(show),
    ),
    list(
      "Ignored files:",
      ['  (use "git add -f <file>..." to include in what will be committed)'],
      status.ignored.map(show),
    ),
    conclusionOf(status, { preamble, isListed }, staged.length > 0, unstaged.length + unmerged.length > 0),
  ].join("");
}

function writeShort({ branch, tracked, untracked, ignored }: Status, show: ShowName): string {
  const quoted: ShowName = (path) => {
    const name = show(path);
    return name.includes(" ") && !name.startsWith('"') ? `"${name}"` : name;
  };
  return [
    ...(branch === "" ? [] : [branch]),
    ...tracked.map(
      ({ staged, unstaged, path, from }) =>
        `${staged}${unstaged} ${from === undefined ? "" : `${quoted(from)} -> `}${quoted(path)}`,
    ),
    ...untracked.map((path) => `?? ${quoted(path)}`),
    ...ignored.map((path) => `!! ${quoted(path)}`),
  ]
    .map((line) => `${line}\n`)
    .join("");
}

/** Formats a status as git does, from the output of the package and the modes that it does not detect. */
export async function composeStatus(
  repository: WorkTree,
  { porcelain, preamble }: StatusSources,
  options: StatusOptions,
): Promise<string> {
  const { form, folder } = options;
  const status = await readStatus(repository, porcelain, options);
  const show: ShowName = (path) => quoteName(form === "porcelain" ? path : relativeName(folder, path));
  return form === "long"
    ? writeLong(status, preamble, show, options.untracked !== null)
    : writeShort(status, show);
}
