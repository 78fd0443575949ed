import type { ExecResult, GitOptions } from "#git";
import { createGit } from "#git";
import type { Command } from "just-bash/browser";
import type { GitSettings } from "./line/call.ts";
import type { WorkTree } from "./tracked-files.ts";

/** This file runs the package whose commands the embedded git completes. */

/** The author of commits unless the environment or the repository names another. */
const identity = { name: "Limpet", email: "agent@localhost" };

/** Local repositories only, without hooks and without the network. */
const options: GitOptions = { network: false, identity };

export type Context = Parameters<Command["execute"]>[1];

export interface GitCommand {
  readonly args: readonly string[];
  readonly context: Context;
  /** Settings of this call alone, which count more than those of the repository. */
  readonly settings?: GitSettings;
}

type Stat = ReturnType<Context["fs"]["lstat"]>;

/** The methods of files that change nothing. */
const reading = /^(?:read|exists|l?stat|realpath|resolve|get)/;

/** Returns files whose facts are looked up once until the next change: a command asks for those of each file many times. */
export function rememberFacts(fs: Context["fs"]): Context["fs"] {
  const known = new Map<string, Stat>();
  const lstat = (path: string): Stat => {
    const found = known.get(path) ?? fs.lstat(path);
    known.set(path, found);
    return found;
  };
  const change =
    (act: Function) =>
    (...args: readonly unknown[]): unknown => {
      const result: unknown = Reflect.apply(act, fs, args);
      return result instanceof Promise ? result.finally(() => known.clear()) : result;
    };
  return new Proxy(fs, {
    get: (target, key) => {
      const value: unknown = key === "lstat" ? lstat : Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      return reading.test(String(key)) ? (value.bind(target) as unknown) : change(value);
    },
  });
}

/** Returns the files as the package should see them: a link has its own text, and exists even if its target does not. */
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

/** What to do in place of commands that this git lacks. */
const ways: Readonly<Record<string, string>> = {
  worktree: "git clone . ../copy makes a second work tree",
  submodule: "git clone brings a repository of this file system into a folder",
  am: "git apply takes the patch, and git commit its message",
  "format-patch": "git diff and git log --format=email write what is in one",
  archive: "git clone copies a repository of this file system",
  lfs: "large files are committed as they are",
  notes: "git commit --amend and git tag -a -m keep texts",
  "filter-branch": "git rebase, git reset --soft and git commit --amend rewrite commits",
  "ls-remote": "git branch -r after git fetch lists the branches of a remote",
  cherry: "git log a..b lists the commits of b alone",
  fsck: "git log --all and git status read the repository",
  whatchanged: "use git log --name-status",
  "write-tree": "use git commit",
  "read-tree": "use git reset or git checkout",
  "name-rev": "use git describe --all or git branch --contains",
  "sparse-checkout": "all files are checked out",
  "update-index": "use git add, git rm --cached or chmod; git status compares the files",
  "show-ref": "git for-each-ref lists refs, git rev-parse --verify <name> tells whether there is one",
  "symbolic-ref": "git branch --show-current names the branch, git checkout <branch> changes it",
  "update-ref": "use git branch -f, git tag -f and git branch -D",
  "cat-file":
    "git show <object> and git ls-tree <commit> show objects, git rev-parse --verify tells whether there is one",
  "hash-object": "git rev-parse HEAD:<file> names the hash of a file that is committed",
  "diff-tree": "use git show --format= --name-only <commit>, or git diff <commit> <commit>",
  bundle: "git clone copies a repository of this file system",
};

/** Names a command that the package does not have, and a way out. */
function withWay(name: string, result: ExecResult): ExecResult {
  const isMissing = /^git: '.*' is not (?:implemented|a git command)/.test(result.stderr);
  const way = ways[name] ?? "git help lists its commands";
  return isMissing
    ? { stdout: "", stderr: `git: '${name}' is not a command of this git; ${way}\n`, exitCode: 1 }
    : result;
}

/** Names an option that the package does not know as git does, and where the known ones are listed. */
function withPlainRefusal(name: string, result: ExecResult): ExecResult {
  const [, option, mark] = /^Unknown option "(--?)?([^"]*)"/.exec(result.stderr) ?? [];
  if (mark === undefined) return result;
  const stderr = `error: git ${name} has no option ${option ?? ""}${mark} here; "git help ${name}" lists those that it has\n`;
  return { stdout: "", stderr, exitCode: 129 };
}

/** Runs a command of the package as it is; the paths of files that it writes are added to `written`. */
export const run = async (
  { args, context, settings = {} }: Pick<GitCommand, "args" | "context" | "settings">,
  more: GitOptions = {},
  written = new Set<string>(),
): Promise<ExecResult> => {
  const git = createGit({ ...options, config: { locked: { ...settings } }, ...more });
  const name = args[0] ?? "";
  const result = await git.execute([...args], { ...context, fs: filesFor(context.fs, written) });
  return withWay(name, withPlainRefusal(name, result));
};

export async function findWorkTree({ fs, cwd }: Context): Promise<WorkTree | null> {
  const found = await createGit(options).findRepo({ fs, cwd });
  return found === null || found.workTree === null ? null : { ...found, fs, workTree: found.workTree };
}
