import { limitedTo } from "../diff.ts";
import { partAtEnd } from "./flags.ts";
import { findMergeBase } from "../merge-base.ts";
import type { Context } from "../run-package.ts";
import { run } from "../run-package.ts";
import { listTree, readIndex } from "../tracked-files.ts";
import type { WorkTree } from "../tracked-files.ts";

/** The commits and paths that arguments name. */

/** Returns the folder that git runs in, from the top of the repository. */
export const folderIn = ({ workTree }: WorkTree, { cwd }: Context): string =>
  cwd.slice(workTree.length).replace(/^\//, "");

/** Returns a path of the command line from the top of the repository, without `.` and `..`. */
export function limitOf(repository: WorkTree, { fs, cwd }: Context, path: string): string {
  return fs.resolvePath(cwd, path).slice(repository.workTree.length).replace(/^\//, "");
}

/** Returns the paths after `--`, from the top of the repository. */
export function limitsIn(repository: WorkTree, args: readonly string[], context: Context): readonly string[] {
  return partAtEnd(args)[1].map((path) => limitOf(repository, context, path));
}

/** Lists those of the paths that match nothing in the index, nor among these other paths. */
export async function listUnknown(
  repository: WorkTree,
  context: Context,
  paths: readonly string[],
  others: Iterable<string> = [],
): Promise<readonly string[]> {
  const { files, unmerged } = await readIndex(repository);
  const known = [...files.keys(), ...unmerged, ...others];
  return paths.filter((path) => !known.some(limitedTo([limitOf(repository, context, path)])));
}

/** Returns the hashes of the commits that the arguments name; null if they name something else. */
export async function readCommits(
  repository: WorkTree,
  args: readonly string[],
  context: Context,
): Promise<readonly string[] | null> {
  const commits: string[] = [];
  for (const arg of args) {
    const hashes: string[] = [];
    for (const name of arg.split(/\.{2,3}/)) {
      const { stdout, exitCode } = await run({ args: ["rev-parse", name === "" ? "HEAD" : name], context });
      if (exitCode !== 0) return null;
      hashes.push(stdout.trim());
    }
    const [one = "", other = ""] = hashes;
    // Of two names with three dots, the first stands for the commit where their histories part.
    const base = arg.includes("...") ? await findMergeBase(repository, one, other) : one;
    if (base === null) return null;
    commits.push(base, ...hashes.slice(1));
  }
  return commits;
}

/** Returns the hash of the object that a name stands for, like `HEAD`, `v1^{tree}` or `HEAD:src`; null if there is none. */
export async function resolveObject(
  repository: WorkTree,
  context: Context,
  name: string,
): Promise<string | null> {
  const resolve = async (revision: string): Promise<string | null> => {
    const { stdout, exitCode } = await run({ args: ["rev-parse", revision], context });
    return exitCode === 0 ? stdout.trim() : null;
  };
  const [, revision, path = ""] = /^([^:]+):(.*)$/.exec(name) ?? [];
  if (revision === undefined) return resolve(name);
  let found = await resolve(`${revision}^{tree}`);
  for (const step of path.split("/").filter((each) => each !== "" && each !== ".")) {
    const tree = found === null ? null : await repository.objectStore.read(found);
    const entries = tree?.type === "tree" ? listTree(tree.content) : [];
    found = entries.find((entry) => entry.name === step)?.hash ?? null;
  }
  return found;
}

/** Returns the arguments of a command with `--` before the paths, which git also finds without it. */
export async function separatePaths(
  repository: WorkTree,
  args: readonly string[],
  context: Context,
): Promise<readonly string[]> {
  if (args.includes("--")) return args;
  for (const [at, arg] of args.entries()) {
    if (at === 0 || arg.startsWith("-") || (await readCommits(repository, [arg], context)) !== null) continue;
    const isPath = await context.fs.lstat(context.fs.resolvePath(context.cwd, arg)).then(
      () => true,
      () => false,
    );
    return isPath ? args.toSpliced(at, 0, "--") : args;
  }
  return args;
}

/** Returns a path in a form that the package takes for no pattern. */
const literalPath = (path: string): string => path.replace(/[*?[\\]/g, String.raw`\$&`);

/** Returns arguments with the names of files that are there as names: the package takes `[slug]` for a pattern. */
export const literalPaths = ({ fs, cwd }: Context, args: readonly string[]): Promise<readonly string[]> =>
  Promise.all(
    args.map(async (arg) => {
      const isFile = /[*?[]/.test(arg) && (await fs.exists(fs.resolvePath(cwd, arg)));
      return isFile ? literalPath(arg) : arg;
    }),
  );
