import type { ExecResult, GitOptions } from "#git";
import { createGit } from "#git";
import type { Command } from "just-bash/browser";
import { completeNames, completePatches, limitedTo } from "./diff.ts";
import { shapeMessages } from "./messages.ts";
import { composeStatus, preambleOf } from "./status.ts";
import type { StatusOptions } from "./status.ts";
import {
  changedModes,
  readIndex,
  readWorkTree,
  regularMode,
  editIndex,
  submoduleType,
  typeOfMode,
} from "./tracked-files.ts";
import type { WorkTree } from "./tracked-files.ts";

/** The commands of the embedded git, completed where the package leaves out what git does: modes, names and titles. */

/** The author of commits unless the environment or the repository names another. */
const identity = { name: "Limpet", email: "agent@localhost" };

/** Local repositories only, without hooks and without the network. */
const options: GitOptions = { network: false, identity };

type Context = Parameters<Command["execute"]>[1];

interface GitCommand {
  readonly args: readonly string[];
  readonly context: Context;
  /** Git's `core.quotePath`. */
  readonly asciiOnly: boolean;
}

/** The files as the package should see them: a link has its own text, and exists even if its target does not. */
function filesFor(fs: Context["fs"], written: Set<string>): Context["fs"] {
  const own: Partial<Context["fs"]> = {
    exists: (path) =>
      fs.lstat(path).then(
        () => true,
        () => false,
      ),
    readFileBuffer: async (path) =>
      (await fs.lstat(path)).isSymbolicLink
        ? new TextEncoder().encode(await fs.readlink(path))
        : fs.readFileBuffer(path),
    stat: (path) => fs.stat(path).catch(() => fs.lstat(path)),
    writeFile: (...args) => {
      written.add(args[0]);
      return fs.writeFile(...args);
    },
  };
  return new Proxy(fs, {
    get: (target, key) => {
      const value: unknown = Reflect.get(own, key) ?? Reflect.get(target, key, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Runs a command of the package as it is; the paths of files that it writes are added to `written`. */
const run = (
  { args, context }: Pick<GitCommand, "args" | "context">,
  more: GitOptions = {},
  written = new Set<string>(),
): Promise<ExecResult> =>
  createGit({ ...options, ...more }).execute([...args], { ...context, fs: filesFor(context.fs, written) });

async function findWorkTree({ fs, cwd }: Context): Promise<WorkTree | null> {
  const found = await createGit(options).findRepo({ fs, cwd });
  return found === null || found.workTree === null ? null : { ...found, fs, workTree: found.workTree };
}

/** The folder that git runs in, from the top of the repository. */
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
  // What comes before the lists of files depends on no file, so a small folder does for the work tree.
  const { objectStore, refStore, gitDir } = repository;
  const elsewhere = { objectStore, refStore, gitDir, cwd: `${gitDir}/refs` };
  const long = chosen.form === "long" ? await run({ args: ["status"], context }, elsewhere) : null;
  const sources = { porcelain: found.stdout, preamble: preambleOf(long?.stdout ?? "") };
  return { ...found, stdout: await composeStatus(repository, sources, chosen) };
}

/** A path of the command line from the top of the repository, without `.` and `..`. */
function limitOf(repository: WorkTree, { fs, cwd }: Context, path: string): string {
  return fs.resolvePath(cwd, path).slice(repository.workTree.length).replace(/^\//, "");
}

/** The hashes of the commits that the arguments name; null if they name something else. */
async function readCommits(args: readonly string[], context: Context): Promise<string[] | null> {
  const names = args.flatMap((arg) => arg.split(/\.\.(?!\.)/));
  const hashes: string[] = [];
  for (const name of names) {
    const { stdout, exitCode } = await run({ args: ["rev-parse", name === "" ? "HEAD" : name], context });
    if (exitCode !== 0) return null;
    hashes.push(stdout.trim());
  }
  return hashes;
}

/** The arguments of a diff with `--` before the paths, which git also finds without it. */
async function separatePaths(args: readonly string[], context: Context): Promise<readonly string[]> {
  if (args.includes("--")) return args;
  for (const [at, arg] of args.entries()) {
    if (at === 0 || arg.startsWith("-") || (await readCommits([arg], context)) !== null) continue;
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
  const args = await separatePaths(given.args, context);
  const separator = args.indexOf("--");
  const own = separator < 0 ? args : args.slice(0, separator);
  const names = own.filter((arg) => /^--name-(?:only|status)$/.test(arg));
  const shown =
    names.length === 0
      ? args
      : ["diff", "--name-status", ...args.slice(1).filter((arg) => !names.includes(arg))];
  const commits = await readCommits(
    own.slice(1).filter((arg) => !arg.startsWith("-")),
    context,
  );
  if (commits === null || own.some((arg) => otherForms.includes(arg) || arg.includes("...")))
    return run({ args, context });
  const result = await run({ args: shown, context });
  if (result.exitCode !== 0) return result;
  const paths = separator < 0 ? [] : args.slice(separator + 1);
  const request = {
    isStaged: own.includes("--staged") || own.includes("--cached"),
    commits,
    limits: paths.map((path) => limitOf(repository, context, path)),
    asciiOnly,
  };
  const stdout = await (names.length === 0
    ? completePatches(repository, result.stdout, request)
    : completeNames(repository, result.stdout, { ...request, hasLetters: names.includes("--name-status") }));
  return { ...result, stdout };
}

async function showLog(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const { store, complete } = shapeMessages(repository.objectStore, command.args);
  const result = await run(command, { objectStore: store });
  return { ...result, stdout: complete(result.stdout) };
}

/** The files whose mode in the work tree is not that of the index, although both are files. */
async function readModes(repository: WorkTree): Promise<ReadonlyMap<string, number>> {
  const { files } = await readIndex(repository);
  const modes = changedModes(files, await readWorkTree(repository, files));
  const isFile = (mode: number): boolean => typeOfMode(mode) === typeOfMode(regularMode);
  return new Map([...modes].filter(([path, mode]) => isFile(mode) && isFile(files.get(path)?.mode ?? 0)));
}

/** The package tells of a changed mode as of a file that goes and one that comes. */
const modePair = /^ create mode (\d+) (.+)\n delete mode (\d+) \2$/gm;

async function commit(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
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

/** Stages files; the package must be told first that a folder stands where the index has a file. */
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

const checkouts = [
  "checkout",
  "switch",
  "merge",
  "pull",
  "rebase",
  "cherry-pick",
  "revert",
  "stash",
  "clone",
];

/** Whether a command brings files of the repository into the work tree. */
function isCheckout([name = "", ...args]: readonly string[]): boolean {
  if (name === "reset") return args.includes("--hard");
  if (name === "restore") return !args.includes("--staged") || args.includes("--worktree");
  return checkouts.includes(name);
}

/** The work tree that a command has written to: that of its folder, or the one that it made. */
function findWritten({ args, context }: GitCommand, written: ReadonlySet<string>): Promise<WorkTree | null> {
  const index = args[0] === "clone" ? [...written].find((path) => path.endsWith("/.git/index")) : undefined;
  return findWorkTree({ ...context, cwd: index?.slice(0, -"/.git/index".length) ?? context.cwd });
}

/**
 * Runs a command that writes files, and gives these the modes of the index, which the package leaves as they are. Modes
 * that were changed before stay, unless the command wrote the file; a stash keeps no modes, so these stay too.
 */
async function checkOut(repository: WorkTree | null, command: GitCommand): Promise<ExecResult> {
  const [name] = command.args;
  const before = repository === null || name === "clone" ? null : await readModes(repository);
  const written = new Set<string>();
  const result = await run(command, {}, written);
  const now = await findWritten(command, written);
  if (now === null) return result;
  for (const [path, mode] of await readModes(now)) {
    const file = `${now.workTree}/${path}`;
    const isReset = name === "reset" || (name !== "stash" && written.has(file));
    if (before?.has(path) !== true || isReset) await now.fs.chmod(file, mode === regularMode ? 0o755 : 0o644);
  }
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
  return name === "commit" ? commit(repository, command) : run(command);
}
