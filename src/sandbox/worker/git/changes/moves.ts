import type { ExecResult } from "#git";
import { refuse } from "../line/answers.ts";
import { plainIn } from "../line/flags.ts";
import { limitOf } from "../line/revisions.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import type { WorkTree } from "../tracked-files.ts";

/** `git mv` and `git clean`: what the package does not know of their arguments. */

/** Returns what stands in the way of moving one file to another; null if nothing does. */
async function refusalOf(
  repository: WorkTree,
  { context }: GitCommand,
  source: string,
  target: string,
): Promise<ExecResult | null> {
  const found = await context.fs.stat(context.fs.resolvePath(context.cwd, target)).catch(() => null);
  if (found?.isFile !== true || source === target) return null;
  const name = (path: string): string => limitOf(repository, context, path);
  const stderr = `fatal: destination exists, source=${name(source)}, destination=${name(target)}\n`;
  return { stdout: "", stderr, exitCode: 128 };
}

/** Moves files; never over another one unless the options force it. */
export async function moveFiles(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const [source = "", target = "", ...more] = plainIn(given.args);
  const isForced = given.args.some((arg) => /^(?:-f|--force|-k)$/.test(arg));
  const refusal = isForced || more.length > 0 ? null : await refusalOf(repository, given, source, target);
  return refusal ?? run(given);
}

/** Finds a repository of its own in a folder; null if there is none. */
async function findNested(fs: WorkTree["fs"], folder: string): Promise<string | null> {
  const names = await fs.readdir(folder);
  if (names.includes(".git")) return folder;
  for (const name of names) {
    const isFolder = (await fs.lstat(`${folder}/${name}`)).isDirectory;
    const found = isFolder ? await findNested(fs, `${folder}/${name}`) : null;
    if (found !== null) return found;
  }
  return null;
}

/** Removes what is not tracked; a repository of its own only if the option to force is given twice. */
export async function clean(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { fs, workTree } = repository;
  const isForced = given.args.filter((arg) => arg === "-f" || arg === "--force").length > 1;
  const isDry = given.args.some((arg) => arg === "-n" || arg === "--dry-run");
  if (isForced || isDry) return run(given);
  const dry = await run({ ...given, args: ["clean", "-n", ...given.args.slice(1)] });
  for (const [, name = ""] of dry.stdout.matchAll(/^Would remove (.*)\/$/gm)) {
    const full = [given.context.cwd, workTree].map((top) => given.context.fs.resolvePath(top, name));
    for (const folder of full) {
      const isFolder = (await fs.lstat(folder).catch(() => null))?.isDirectory === true;
      const nested = isFolder ? await findNested(fs, folder) : null;
      if (nested !== null)
        return refuse(
          "git clean",
          `-f for ${nested}, a repository of its own,`,
          `add -e ${name} to leave it, or -ff to remove it`,
        );
    }
  }
  return run(given);
}

/** Lists where HEAD or a branch was, as many entries as an option like `-3` names. */
export const showReflog = (_: WorkTree, given: GitCommand): Promise<ExecResult> =>
  run({ ...given, args: given.args.flatMap((arg) => (/^-\d+$/.test(arg) ? ["-n", arg.slice(1)] : [arg])) });
