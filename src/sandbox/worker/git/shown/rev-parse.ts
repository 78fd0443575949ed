import type { ExecResult } from "#git";
import { fail } from "../line/answers.ts";
import { takeOptions } from "../line/flags.ts";
import { folderIn, resolveObject } from "../line/revisions.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import type { WorkTree } from "../tracked-files.ts";

/** `git rev-parse`: hashes of what is named, and where the repository is. */

/** Returns the folder of git's own files, as git names it from where it runs. */
const gitFolder = (repository: WorkTree, { context }: GitCommand): string =>
  folderIn(repository, context) === "" ? ".git" : repository.gitDir;

/** Shows the hashes of revisions, or where the repository is. */
export async function revParse(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { options, args } = takeOptions(given.args, [
    "-q",
    "--quiet",
    "--short",
    "--short=",
    "--absolute-git-dir",
    "--git-common-dir",
    "--git-dir",
  ]);
  const places = [
    ...(options.has("--absolute-git-dir") ? [repository.gitDir] : []),
    ...(options.has("--git-common-dir") || options.has("--git-dir") ? [gitFolder(repository, given)] : []),
  ];
  if (args.length === 1 && places.length > 0)
    return { stdout: places.map((place) => `${place}\n`).join(""), stderr: "", exitCode: 0 };
  const named = await withObjects(repository, { ...given, args });
  const result = await run({ ...named, args: named.args });
  const isQuiet = options.has("-q") || options.has("--quiet");
  if (result.exitCode !== 0) return isQuiet ? fail("", 1) : withEcho(result, args);
  const length = Math.max(4, Number(options.get("--short")) || 7);
  const shorten = (text: string): string => text.replace(/^[0-9a-f]{40}$/gm, (hash) => hash.slice(0, length));
  const stdout = options.has("--short") ? shorten(result.stdout) : result.stdout;
  return { ...result, stdout: places.map((place) => `${place}\n`).join("") + stdout };
}

/** Replaces names of files of commits, which the package does not resolve. */
async function withObjects(repository: WorkTree, command: GitCommand): Promise<GitCommand> {
  const args: string[] = [];
  for (const arg of command.args) {
    const isFile = /^[^-:][^:]*:./.test(arg);
    args.push((isFile ? await resolveObject(repository, command.context, arg) : null) ?? arg);
  }
  return { ...command, args };
}

/** Repeats a name that cannot be resolved, as git does without `--verify`. */
const withEcho = (result: ExecResult, args: readonly string[]): ExecResult => {
  const [, name = ""] = /ambiguous argument '([^']*)'/.exec(result.stderr) ?? [];
  const isEchoed = name !== "" && !args.includes("--verify");
  return isEchoed ? { ...result, stdout: `${result.stdout}${name}\n` } : result;
};
