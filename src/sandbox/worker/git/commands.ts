import type { ExecResult } from "#git";
import { checkOut, isCheckout } from "./checkouts.ts";
import { completeNames, completePatches, limitedTo } from "./diff.ts";
import { completeHistory, hasPatches } from "./history.ts";
import { findMergeBase } from "./merge-base.ts";
import { shapeMessages } from "./messages.ts";
import type { Context, GitCommand } from "./run-package.ts";
import { findWorkTree, run } from "./run-package.ts";
import { composeStatus, preambleOf } from "./status.ts";
import type { StatusOptions } from "./status.ts";
import { editIndex, readIndex, readModes, submoduleType, typeOfMode } from "./tracked-files.ts";
import type { WorkTree } from "./tracked-files.ts";

/** Completes the commands of the embedded git in what it omits: modes, names and titles. */

/** Returns the folder in which git runs, from the top of the repository. */
const folderIn = ({ workTree }: WorkTree, { cwd }: Context): string =>
  cwd.slice(workTree.length).replace(/^\//, "");

const statusForms: Readonly<Record<string, Partial<Pick<StatusOptions, "form" | "hasBranch">>>> = {
  "-s": { form: "short" },
  "--short": { form: "short" },
  "--porcelain": { form: "porcelain" },
  "-b": { hasBranch: true },
  "--branch": { hasBranch: true },
  "-sb": { form: "short", hasBranch: true },
};

async function showStatus(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const { args, context, asciiOnly } = command;
  const forms = args.slice(1).map((arg) => statusForms[arg]);
  if (forms.includes(undefined)) return run(command);
  const base = { form: "long", hasBranch: false, asciiOnly, folder: folderIn(repository, context) } as const;
  const chosen: StatusOptions = forms.reduce<StatusOptions>((all, form) => ({ ...all, ...form }), base);
  const branch = chosen.hasBranch && chosen.form !== "long" ? ["--branch"] : [];
  const found = await run({ args: ["status", "--porcelain", ...branch], context });
  if (found.exitCode !== 0) return found;
  // The text before the lists of files depends on no file, so an empty folder can replace the work tree.
  const { objectStore, refStore, gitDir } = repository;
  const elsewhere = { objectStore, refStore, gitDir, cwd: `${gitDir}/refs` };
  const long = chosen.form === "long" ? await run({ args: ["status"], context }, elsewhere) : null;
  const sources = { porcelain: found.stdout, preamble: preambleOf(long?.stdout ?? "") };
  return { ...found, stdout: await composeStatus(repository, sources, chosen) };
}

/** Returns a path of the command line from the top of the repository, without `.` and `..`. */
function limitOf(repository: WorkTree, { fs, cwd }: Context, path: string): string {
  return fs.resolvePath(cwd, path).slice(repository.workTree.length).replace(/^\//, "");
}

/** Returns the paths after `--`, from the top of the repository. */
function limitsIn(repository: WorkTree, args: readonly string[], context: Context): readonly string[] {
  const separator = args.indexOf("--");
  return separator < 0 ? [] : args.slice(separator + 1).map((path) => limitOf(repository, context, path));
}

/** Returns the hashes of the commits that the arguments name; null if they name something else. */
async function readCommits(
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
    // Of two names with three dots, the first stands for the merge base of both.
    const base = arg.includes("...") ? await findMergeBase(repository, one, other) : one;
    if (base === null) return null;
    commits.push(base, ...hashes.slice(1));
  }
  return commits;
}

/** Returns the arguments of a diff with `--` before the paths, which git recognises without it. */
async function separatePaths(
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

const otherForms = ["--stat", "--numstat", "--shortstat"];

async function showDiff(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { context, asciiOnly } = given;
  const args = await separatePaths(repository, given.args, context);
  const separator = args.indexOf("--");
  const own = separator < 0 ? args : args.slice(0, separator);
  const names = own.filter((arg) => /^--name-(?:only|status)$/.test(arg));
  const shown =
    names.length === 0
      ? args
      : ["diff", "--name-status", ...args.slice(1).filter((arg) => !names.includes(arg))];
  const commits = await readCommits(
    repository,
    own.slice(1).filter((arg) => !arg.startsWith("-")),
    context,
  );
  if (commits === null || own.some((arg) => otherForms.includes(arg))) return run({ args, context });
  const result = await run({ args: shown, context });
  if (result.exitCode !== 0) return result;
  const request = {
    isStaged: own.includes("--staged") || own.includes("--cached"),
    commits,
    limits: limitsIn(repository, args, context),
    asciiOnly,
  };
  const stdout = await (names.length === 0
    ? completePatches(repository, result.stdout, request)
    : completeNames(repository, result.stdout, { ...request, hasLetters: names.includes("--name-status") }));
  return { ...result, stdout };
}

async function showLog(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const { args, context, asciiOnly } = command;
  const { store, complete } = shapeMessages(repository.objectStore, args);
  const result = await run(command, { objectStore: store });
  const stdout = complete(result.stdout);
  if (result.exitCode !== 0 || !hasPatches(args)) return { ...result, stdout };
  const request = { limits: limitsIn(repository, args, context), asciiOnly };
  return { ...result, stdout: await completeHistory(repository, stdout, request) };
}

async function showMergeBase(repository: WorkTree, { args, context }: GitCommand): Promise<ExecResult> {
  const [one, other, ...more] = args.slice(1);
  const names = one === undefined || other === undefined || more.length > 0 ? null : [one, other];
  const commits = names && (await readCommits(repository, names, context));
  if (commits === null)
    return { stdout: "", stderr: "fatal: usage: git merge-base <commit> <commit>\n", exitCode: 128 };
  const base = await findMergeBase(repository, commits[0] ?? "", commits[1] ?? "");
  return { stdout: base === null ? "" : `${base}\n`, stderr: "", exitCode: base === null ? 1 : 0 };
}

/** Matches a changed mode, which the package reports as a deleted and a created file. */
const modePair = /^ create mode (\d+) (.+)\n delete mode (\d+) \2$/gm;

const unknownPaths = "fatal: this git commits what is staged: git add the files, then commit without paths\n";

async function commit(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const separator = command.args.indexOf("--");
  if (separator >= 0 && separator < command.args.length - 1)
    return { stdout: "", stderr: unknownPaths, exitCode: 129 };
  const isAll = command.args.some((arg) => arg === "--all" || /^-[qvsn]*a/.test(arg));
  const modes = isAll ? await readModes(repository) : new Map<string, number>();
  const unstage = modes.size === 0 ? null : await editIndex(repository, modes);
  const result = await run(command);
  if (result.exitCode !== 0) await unstage?.();
  const isStatus =
    result.exitCode === 1 && /^(?:On branch|HEAD detached) (?![^]*^Initial commit$)/m.test(result.stdout);
  if (isStatus && !command.args.includes("--amend")) {
    const { stdout } = await showStatus(repository, { ...command, args: ["status"] });
    return { ...result, stdout };
  }
  return { ...result, stdout: result.stdout.replace(modePair, " mode change $3 => $1 $2") };
}

/** Stages files; the package needs a notice first if a folder has replaced a file of the index. */
async function add(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const { args, context } = command;
  const { files } = await readIndex(repository);
  const paths = args.slice(1).filter((arg) => !arg.startsWith("-"));
  const isIn = limitedTo(paths.map((path) => limitOf(repository, context, path)));
  const replaced = new Map<string, null>();
  for (const [path, { mode }] of files) {
    if (typeOfMode(mode) === submoduleType || !isIn(path)) continue;
    const stat = await repository.fs.lstat(`${repository.workTree}/${path}`).catch(() => null);
    if (stat?.isDirectory === true) replaced.set(path, null);
  }
  if (replaced.size === 0) return run(command);
  const restore = await editIndex(repository, replaced);
  const result = await run(command);
  if (result.exitCode !== 0) await restore();
  return result;
}

/** Runs a command of git. */
export async function runGitCommand(command: GitCommand): Promise<ExecResult> {
  const name = command.args[0] ?? "";
  const repository = await findWorkTree(command.context);
  if (isCheckout(command.args)) return checkOut(repository, command);
  if (repository === null) return run(command);
  if (name === "status") return showStatus(repository, command);
  if (name === "diff") return showDiff(repository, command);
  if (name === "log" || name === "show") return showLog(repository, command);
  if (name === "add") return add(repository, command);
  if (name === "merge-base") return showMergeBase(repository, command);
  return name === "commit" ? commit(repository, command) : run(command);
}
