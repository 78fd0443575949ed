import type { ExecResult } from "#git";
import { decode, fail, fine, refuse } from "../line/answers.ts";
import { limitedTo } from "../diff.ts";
import { takeOptions } from "../line/flags.ts";
import { folderIn, limitOf, resolveObject } from "../line/revisions.ts";
import { findMergeBase } from "../merge-base.ts";
import { quoteName, relativeName } from "../names.ts";
import type { GitCommand } from "../run-package.ts";
import { listTree } from "../tracked-files.ts";
import type { TrackedFile, WorkTree } from "../tracked-files.ts";
import { showDiff } from "./show-diff.ts";
import { showLog } from "./show-log.ts";

/** Commands for scripts that the package lacks: objects, folders of commits, lists of commits, ignored files. */

const typeOf = (mode: number): string => (mode === 0o40000 ? "tree" : mode === 0o160000 ? "commit" : "blob");

const entryLine = ({ mode, hash }: TrackedFile, name: string): string =>
  `${mode.toString(8).padStart(6, "0")} ${typeOf(mode)} ${hash}\t${name}\n`;

/** Returns the hash of the tree of a commit, a tag or a tree. */
async function treeOf({ objectStore }: WorkTree, hash: string): Promise<string> {
  for (let next = hash; ;) {
    const { type, content } = await objectStore.read(next);
    const below = /^(?:tree|object) ([0-9a-f]{40})$/m.exec(type === "tree" ? "" : decode(content))?.[1];
    if (below === undefined) return next;
    next = below;
  }
}

/** Lists the entries of a tree that `isIn` lets through, those of a folder in its place where `opens` says so. */
async function listEntries(
  { objectStore }: WorkTree,
  tree: string,
  isIn: (path: string) => boolean,
  opens: (path: string) => boolean,
): Promise<ReadonlyMap<string, TrackedFile>> {
  const files = new Map<string, TrackedFile>();
  const add = async (hash: string, folder: string): Promise<void> => {
    for (const entry of listTree((await objectStore.read(hash)).content)) {
      const path = folder + entry.name;
      if (entry.isFolder && opens(path)) await add(entry.hash, `${path}/`);
      else if (isIn(path)) files.set(path, entry);
    }
  };
  await add(tree, "");
  return files;
}

const treeOptions = ["-r", "--name-only", "--full-tree", "--full-name", "--name-status"];

/** Lists the files of a commit, of one folder or of all. */
export async function lsTree(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const { context } = command;
  const { options, args } = takeOptions(command.args, treeOptions);
  const [name = "HEAD", ...paths] = args.slice(1).filter((arg) => arg !== "--");
  const unknown = args.slice(1).find((arg) => /^-[^-]|^--./.test(arg));
  if (unknown !== undefined) return refuse("git ls-tree", unknown, `it has ${treeOptions.join(", ")}`);
  const hash = await resolveObject(repository, context, name);
  if (hash === null) return fail(`fatal: Not a valid object name ${name}\n`);
  const folder = options.has("--full-tree") || name.includes(":") ? "" : folderIn(repository, context);
  const limits = paths.map(
    (path) =>
      (folder === "" ? path : limitOf(repository, context, path)) +
      (path.endsWith("/") && folder !== "" ? "/" : ""),
  );
  const wanted = limits.length === 0 && folder !== "" ? [`${folder}/`] : limits;
  const files = await listEntries(
    repository,
    await treeOf(repository, hash),
    limitedTo(wanted),
    (path) => options.has("-r") || wanted.some((limit) => limit.startsWith(`${path}/`)),
  );
  const hasNames = options.has("--name-only") || options.has("--name-status");
  const from = options.has("--full-name") ? "" : folder;
  const lines = [...files].map(([path, file]) => {
    const shown = quoteName(relativeName(from, path));
    return hasNames ? `${shown}\n` : entryLine(file, shown);
  });
  return fine(lines.join(""));
}

/** Lists or counts commits. */
export async function revList(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { options, args } = takeOptions(given.args, [
    "--count",
    "--max-parents=",
    "--no-commit-header",
    "--abbrev-commit",
  ]);
  const form = options.has("--abbrev-commit") ? "%h" : "%H";
  const hasForm = args.some((arg) => /^--(?:format|pretty)=/.test(arg));
  const result = await showLog(repository, {
    ...given,
    args: ["log", ...(hasForm ? [] : [`--format=${form}%x09%P`]), ...args.slice(1)],
  });
  if (result.exitCode !== 0 || hasForm) return result;
  const most = Number(options.get("--max-parents") ?? Infinity);
  const hashes = result.stdout.split("\n").flatMap((line) => {
    const [hash = "", parents = ""] = line.split("\t");
    return hash === "" || parents.split(" ").filter(Boolean).length > most ? [] : [hash];
  });
  return fine(options.has("--count") ? `${hashes.length}\n` : hashes.map((hash) => `${hash}\n`).join(""));
}

/** Compares files with a commit or the index. */
export const diffFiles = (repository: WorkTree, given: GitCommand): Promise<ExecResult> =>
  showDiff(repository, {
    ...given,
    args: ["diff", ...given.args.slice(1).filter((arg) => !/^(?:-r|--)$/.test(arg))],
  });

/** Shows the commit where two histories part, or answers whether one commit is in the history of another. */
export async function mergeBase(repository: WorkTree, { args, context }: GitCommand): Promise<ExecResult> {
  const { options, args: rest } = takeOptions(args, ["--is-ancestor", "--fork-point"]);
  const [one, other, ...more] = rest.slice(1);
  if (one === undefined || other === undefined || more.length > 0)
    return fail("fatal: usage: git merge-base <commit> <commit>\n", 128);
  const hashes: string[] = [];
  for (const name of [one, other]) {
    const hash = await resolveObject(repository, context, `${name}^{commit}`);
    if (hash === null) return fail(`fatal: Not a valid object name ${name}\n`, 128);
    hashes.push(hash);
  }
  const [first = "", second = ""] = hashes;
  const base = await findMergeBase(repository, first, second);
  if (options.has("--is-ancestor")) return fail("", base === first ? 0 : 1);
  return base === null ? fail("", 1) : fine(`${base}\n`);
}
