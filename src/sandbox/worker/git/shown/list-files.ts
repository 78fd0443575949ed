import type { ExecResult } from "#git";
import { fail, fine } from "../line/answers.ts";
import { plainIn, takeOptions } from "../line/flags.ts";
import { folderIn, limitOf, listUnknown } from "../line/revisions.ts";
import { quoteName, relativeName } from "../names.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import { readIndex } from "../tracked-files.ts";
import type { WorkTree } from "../tracked-files.ts";
import { joinFolders, listOthers } from "./show-status.ts";

/** `git ls-files`: what the index has, and what it has not. */

const ownOptions = ["--error-unmatch", "--directory", "--full-name"];

/** Lists what is not tracked, folders without tracked files as such. */
async function listFolders(
  repository: WorkTree,
  command: GitCommand,
  isStandard: boolean,
): Promise<ExecResult> {
  const { files } = await readIndex(repository);
  const folder = folderIn(repository, command.context);
  const others = await listOthers(repository, command, isStandard);
  const lines = joinFolders(others, files.keys()).filter((path) => path.startsWith(folder));
  const shown = lines.map((path) => `${quoteName(relativeName(folder, path), command.asciiOnly)}\n`);
  return fine(shown.join(""));
}

/** Lists files. */
export async function listFiles(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { options, args } = takeOptions(given.args, ownOptions);
  const command = { ...given, args };
  const paths = plainIn(args);
  const unknown = options.has("--error-unmatch") ? await listUnknown(repository, given.context, paths) : [];
  if (unknown.length > 0)
    return fail(
      unknown
        .map(
          (path) =>
            `error: pathspec '${path}' did not match any file(s) known to git\nDid you forget to 'git add'?\n`,
        )
        .join(""),
      1,
    );
  const has = (letter: string, word: string): boolean => args.includes(letter) || args.includes(word);
  const hasOthers = has("-o", "--others");
  if (options.has("--directory") && hasOthers)
    return listFolders(repository, command, args.includes("--exclude-standard"));
  const isBoth = hasOthers && (has("-m", "--modified") || has("-c", "--cached"));
  return listBelow(repository, command, isBoth, options.has("--full-name"));
}

/** Lists the files of the folder that git runs in, by their names from there: the package knows only the top. */
async function listBelow(
  repository: WorkTree,
  command: GitCommand,
  isBoth: boolean,
  isFull: boolean,
): Promise<ExecResult> {
  const { args, context } = command;
  const folder = folderIn(repository, context);
  if (folder === "") return listInOrder(command, isBoth);
  const isPath = (arg: string, at: number): boolean => at > 0 && !arg.startsWith("-");
  const paths = args.filter(isPath).map((path) => limitOf(repository, context, path));
  const options = args.filter((arg, at) => !isPath(arg, at) && arg !== "--");
  const limited = [...options, "--", ...(paths.length === 0 ? [folder] : paths)];
  const top = { ...command, args: limited, context: { ...context, cwd: repository.workTree } };
  const result = await listInOrder(top, isBoth);
  if (isFull) return result;
  const end = args.includes("-z") ? "\0" : "\n";
  const shown = result.stdout.split(end).map((line) => {
    const [, start = "", name = ""] = /^(.*\t|[A-Z?] )?(.*)$/s.exec(line) ?? [];
    return name === "" ? line : start + relativeName(folder, name);
  });
  return { ...result, stdout: shown.join(end) };
}

/** Lists files; what is not tracked stands before the rest, as in git. */
async function listInOrder(command: GitCommand, isBoth: boolean): Promise<ExecResult> {
  if (!isBoth) return run(command);
  const others = await run({
    ...command,
    args: command.args.filter((arg) => !/^(?:-[mcd]|--(?:modified|cached|deleted))$/.test(arg)),
  });
  const rest = await run({
    ...command,
    args: command.args.filter((arg) => !/^(?:-o|--others|--exclude-standard)$/.test(arg)),
  });
  return { ...rest, stdout: others.stdout + rest.stdout };
}
