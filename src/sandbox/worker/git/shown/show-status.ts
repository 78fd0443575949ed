import type { ExecResult } from "#git";
import { limitedTo } from "../diff.ts";
import { refuse } from "../line/answers.ts";
import { takeOptions } from "../line/flags.ts";
import { folderIn, limitOf } from "../line/revisions.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import { composeStatus, preambleOf } from "../status.ts";
import type { StatusOptions } from "../status.ts";
import { readIndex } from "../tracked-files.ts";
import type { TrackedFiles, WorkTree } from "../tracked-files.ts";

/** `git status` in all its forms. */

const ownOptions = [
  "--short",
  "--porcelain",
  "--porcelain=",
  "--form=",
  "--branch",
  "-u*",
  "--untracked-files",
  "--untracked-files=",
  "--ignored",
  "--ignored=",
];

/** Lists the files of the work tree that are not tracked, from the top of the repository. */
async function listOthers(
  repository: WorkTree,
  { context }: GitCommand,
  isStandard: boolean,
): Promise<readonly string[]> {
  const args = ["ls-files", "--others", ...(isStandard ? ["--exclude-standard"] : []), "-z"];
  const { stdout } = await run({ args, context: { ...context, cwd: repository.workTree } });
  return stdout.split("\0").filter((path) => path !== "");
}

/** Joins files into the largest folders that hold nothing else. */
function joinFolders(files: readonly string[], others: Iterable<string>): readonly string[] {
  const open = new Set([""]);
  for (const path of others) for (const { index } of path.matchAll(/\//g)) open.add(path.slice(0, index + 1));
  const joined = files.map((path) => {
    const folders = [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index + 1));
    return folders.find((folder) => !open.has(folder)) ?? path;
  });
  return [...new Set(joined)].sort();
}

async function listIgnored(
  repository: WorkTree,
  command: GitCommand,
  index: TrackedFiles,
): Promise<readonly string[]> {
  const untracked = new Set(await listOthers(repository, command, true));
  const all = await listOthers(repository, command, false);
  const ignored = all.filter((path) => !untracked.has(path));
  return joinFolders(ignored, [...index.keys(), ...untracked]);
}

/** Returns which files that are not tracked to show: all, their folders (undefined: what the package names), or none. */
async function listUntracked(
  repository: WorkTree,
  command: GitCommand,
  mode: string,
  limits: readonly string[],
): Promise<readonly string[] | null | undefined> {
  if (/^(?:no|false|0)$/.test(mode)) return null;
  if (mode === "all") return [...(await listOthers(repository, command, true))].sort();
  if (!limits.some((limit) => limit.includes("/"))) return undefined;
  const { files } = await readIndex(repository);
  const all = await listOthers(repository, command, true);
  const isIn = limitedTo(limits);
  // Of a folder, git names what the limits let through.
  const folders = joinFolders(all, files.keys()).flatMap((path) =>
    !path.endsWith("/") || isIn(path.slice(0, -1))
      ? [path]
      : all.filter((each) => each.startsWith(path) && isIn(each)),
  );
  return folders;
}

/** Returns what to show of a status, and how. */
async function readOptions(
  repository: WorkTree,
  command: GitCommand,
  options: ReadonlyMap<string, string>,
  paths: readonly string[],
): Promise<StatusOptions> {
  const { context } = command;
  const limits = paths.map((path) => limitOf(repository, context, path));
  const mode = options.get("--untracked-files") ?? options.get("-u");
  const { files } = await readIndex(repository);
  return {
    form: options.has("--porcelain") ? "porcelain" : options.has("--short") ? "short" : "long",
    hasBranch: options.has("--branch"),
    folder: folderIn(repository, context),
    isIn: limitedTo(limits),
    untracked: await listUntracked(repository, command, mode === "" ? "all" : (mode ?? "normal"), limits),
    ignored: options.has("--ignored") ? await listIgnored(repository, command, files) : [],
  };
}

/** Shows a status. */
export async function showStatus(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const { context } = command;
  const { options, args } = takeOptions(command.args, ownOptions);
  const paths = args.slice(1).filter((arg) => arg !== "--");
  if (!args.includes("--") && paths.some((path) => path.startsWith("-"))) return run({ ...command, args });
  if (options.get("--porcelain")?.endsWith("2") === true)
    return refuse("git status", "porcelain v2", "use --porcelain");
  const chosen = await readOptions(repository, command, options, paths);
  const isLong = chosen.form === "long";
  const branch = chosen.hasBranch && !isLong ? ["--branch"] : [];
  const found = await run({ args: ["status", "--porcelain", ...branch], context });
  if (found.exitCode !== 0) return found;
  // What comes before the lists of files depends on no file, so a small folder does for the work tree.
  const { objectStore, refStore, gitDir } = repository;
  const elsewhere = { objectStore, refStore, gitDir, cwd: `${gitDir}/refs` };
  const long = isLong ? await run({ args: ["status"], context }, elsewhere) : null;
  const sources = { porcelain: found.stdout, preamble: preambleOf(long?.stdout ?? "") };
  return { ...found, stdout: await composeStatus(repository, sources, chosen) };
}
