import { createGlobMatcher } from "../../glob.ts";
import { quoteName } from "./names.ts";
import { changedModes, readHead, readIndex, readTree, readWorkTree, typeOfMode } from "./tracked-files.ts";
import type { TrackedFile, TrackedFiles, WorkTree } from "./tracked-files.ts";

/** What `git diff` compares, and how it is shown. */
export interface DiffRequest {
  readonly isStaged: boolean;
  /** Hashes of the one or two named commits; null is the empty tree. */
  readonly commits: readonly (string | null)[];
  /** Paths from the top of the repository that limit the diff; none if it has no limits. */
  readonly limits: readonly string[];
}

interface Sides {
  readonly old: TrackedFiles;
  readonly new: TrackedFiles;
}

const without = (files: TrackedFiles, paths: ReadonlySet<string>): TrackedFiles =>
  new Map([...files].filter(([path]) => !paths.has(path)));

async function readSides(repository: WorkTree, { isStaged, commits }: DiffRequest): Promise<Sides> {
  const [first, second] = commits;
  if (first !== undefined && second !== undefined)
    return { old: await readTree(repository, first), new: await readTree(repository, second) };
  const { files: index, unmerged } = await readIndex(repository);
  if (!isStaged && first === undefined) return { old: index, new: await readWorkTree(repository, index) };
  const old = without(await readTree(repository, first ?? (await readHead(repository))), unmerged);
  if (isStaged) return { old, new: index };
  const known = new Map([...index, ...[...old].filter(([path]) => index.has(path))]);
  return { old, new: await readWorkTree(repository, known) };
}

/** Returns a test whether a path is within the limits of a diff. */
export function limitedTo(limits: readonly string[]): (path: string) => boolean {
  if (limits.length === 0) return () => true;
  const tests = limits.map((limit) => {
    const pattern = limit.replace(/\/$/, "");
    const matches = /[*?[]/.test(pattern) ? createGlobMatcher(pattern, { segments: false }) : () => false;
    const name = pattern.replace(/\\(.)/g, "$1");
    return (path: string): boolean =>
      name === "" || path === name || path.startsWith(`${name}/`) || matches(path);
  });
  return (path) => tests.some((test) => test(path));
}

interface FileChange {
  readonly path: string;
  /** Path before the change; the same if the file was not renamed. */
  readonly from: string;
  readonly old: TrackedFile | undefined;
  readonly new: TrackedFile | undefined;
}

const emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

/** Returns the changes that the package does not show: of modes alone, and of added or deleted empty files. */
function unseenChanges({ old, new: after }: Sides, seen: ReadonlySet<string>): FileChange[] {
  const changes = [...changedModes(old, after).keys()].map((path) => ({ path, from: path }));
  for (const [files, others] of [
    [old, after],
    [after, old],
  ] as const)
    for (const [path, { hash }] of files)
      if (hash === emptyBlob && !others.has(path)) changes.push({ path, from: path });
  return changes
    .filter(({ path }) => !seen.has(path))
    .map((change) => ({ ...change, old: old.get(change.path), new: after.get(change.path) }));
}

/** Piece of a diff of the package: the patch of one file, or something else, which has no path. */
interface Patch {
  readonly text: string;
  readonly path: string | null;
  readonly from: string;
}

const pieceStart = /^(?=diff --git |diff --cc |\* Unmerged path )/m;
const renamed = /^rename from (.*?)\nrename to (.*?)\n(?=index |--- |Binary files |$)/ms;
const headerStart = "diff --git a/";

function readPatch(text: string): Patch {
  if (!text.startsWith(headerStart)) return { text, path: null, from: "" };
  const rename = renamed.exec(text);
  if (rename !== null) return { text, path: rename[2] ?? "", from: rename[1] ?? "" };
  const end = text.search(/\n(?:new file mode|deleted file mode|old mode|index) /);
  const names = text.slice(headerStart.length, end < 0 ? text.length : end);
  const path = names.slice(0, (names.length - " b/".length) / 2);
  return { text, path, from: path };
}

/** Keeps the patches of files that may be read, by their names before and after. */
export const keepPatches = (output: string, isOpen: (path: string) => boolean): string =>
  output
    .split(pieceStart)
    .filter((text) => {
      const { path, from } = readPatch(text);
      const names = path === null ? [] : [path, from];
      return !text.startsWith('diff --git "') && names.every((name) => !name.startsWith('"') && isOpen(name));
    })
    .join("");

const modeText = (file: TrackedFile): string => file.mode.toString(8).padStart(6, "0");

const abbreviated = (file: TrackedFile | undefined): string => file?.hash.slice(0, 7) ?? "0000000";

/** Returns the lines of a patch about modes: of an added or deleted file, or of one that both sides have. */
function modeLines({ old, new: after }: FileChange): string[] {
  if (old === undefined) return after === undefined ? [] : [`new file mode ${modeText(after)}`];
  if (after === undefined) return [`deleted file mode ${modeText(old)}`];
  return old.mode === after.mode ? [] : [`old mode ${modeText(old)}`, `new mode ${modeText(after)}`];
}

/** Returns the line of both hashes; a patch of modes or names alone has none. */
function indexLines({ old, new: after }: FileChange, text: string): string[] {
  const hashes = /^index ([0-9a-f]+\.\.[0-9a-f]+)/m.exec(text)?.[1];
  if (old === undefined || after === undefined)
    return [`index ${hashes ?? `${abbreviated(old)}..${abbreviated(after)}`}`];
  if (hashes === undefined) return [];
  return [`index ${hashes}${old.mode === after.mode ? ` ${modeText(old)}` : ""}`];
}

/** Returns the lines of a patch about the file as a whole. */
function headLines(change: FileChange, text: string): string[] {
  const { from, path } = change;
  const similarity = /^similarity index .*$/m.exec(text)?.[0];
  return [
    `diff --git ${quoteName(`a/${from}`)} ${quoteName(`b/${path}`)}`,
    ...modeLines(change),
    ...(similarity === undefined
      ? []
      : [similarity, `rename from ${quoteName(from)}`, `rename to ${quoteName(path)}`]),
    ...indexLines(change, text),
  ];
}

function writePatch(change: FileChange, text: string): string {
  const names = [quoteName(`a/${change.from}`), quoteName(`b/${change.path}`)];
  const lines = headLines(change, text);
  const sides = [change.old, change.new].map((file, side) =>
    file === undefined ? "/dev/null" : names[side],
  );
  const at = text.search(/^(?:@@ |Binary files )/m);
  if (at < 0) return `${lines.join("\n")}\n`;
  if (!text.startsWith("@@ ", at))
    return [...lines, `Binary files ${sides[0]} and ${sides[1]} differ`, ""].join("\n");
  const [before, after] = sides.map((side) => (side?.includes(" ") ? `${side}\t` : side));
  return [...lines, `--- ${before}`, `+++ ${after}`, text.slice(at)].join("\n");
}

/** Returns whether a patch can be rewritten: it is not of a conflict, and a file stays a file and a link a link. */
const isPlain = ({ old, new: after }: FileChange, text: string): boolean =>
  old === undefined
    ? after !== undefined && text.includes("\nnew file mode ")
    : after === undefined
      ? text.includes("\ndeleted file mode ")
      : typeOfMode(old.mode) === typeOfMode(after.mode);

const byPath = (one: { readonly path: string }, other: { readonly path: string }): number =>
  one.path < other.path ? -1 : one.path > other.path ? 1 : 0;

/** Completes the patches that the package prints for a diff: modes, empty files and names. */
export async function completePatches(
  repository: WorkTree,
  output: string,
  request: DiffRequest,
): Promise<string> {
  const patches = output.split(pieceStart).map(readPatch);
  const sides = await readSides(repository, request);
  const seen = new Set(patches.flatMap(({ path, from }) => (path === null ? [] : [path, from])));
  const isIn = limitedTo(request.limits);
  const unseen = unseenChanges(sides, seen).filter(({ path }) => isIn(path));
  const written = patches.flatMap(({ text, path, from }) => {
    // For a commit, the package shows all files.
    if (path === null || !(isIn(path) || isIn(from))) return [];
    const change = { path, from, old: sides.old.get(from), new: sides.new.get(path) };
    return [{ path, text: isPlain(change, text) ? writePatch(change, text) : text }];
  });
  const added = unseen.map((change) => ({ path: change.path, text: writePatch(change, "") }));
  const others = patches.filter(({ path }) => path === null).map(({ text }) => text);
  return [...others, ...[...written, ...added].sort(byPath).map(({ text }) => text)].join("");
}

/** Completes the package's list of changed files for `--name-status`; returns it with or without letters. */
export async function completeNames(
  repository: WorkTree,
  output: string,
  request: DiffRequest & { readonly hasLetters: boolean },
): Promise<string> {
  const lines = output.split(/\n(?=[A-Z]\d*\t)|\n$/).filter((line) => line !== "");
  const listed = lines.map((line) => {
    const [letter = "", ...names] = line.split("\t");
    return letter.startsWith("R")
      ? { letter, path: names.slice(1).join("\t"), from: names[0] ?? "" }
      : { letter, path: names.join("\t"), from: undefined };
  });
  const sides = await readSides(repository, request);
  const isIn = limitedTo(request.limits);
  const seen = new Set(listed.flatMap(({ path, from }) => [path, from ?? path]));
  const unseen = unseenChanges(sides, seen).filter(({ path, old, new: after }) => {
    const isModeOnly = old !== undefined && after !== undefined;
    return isModeOnly && isIn(path);
  });
  const all = [...listed, ...unseen.map(({ path }) => ({ letter: "M", path, from: undefined }))].sort(byPath);
  return all
    .map(({ letter, path, from }) => {
      const fields = request.hasLetters ? [letter, ...(from === undefined ? [] : [quoteName(from)])] : [];
      return `${[...fields, quoteName(path)].join("\t")}\n`;
    })
    .join("");
}
