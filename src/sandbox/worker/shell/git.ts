import type { Bash } from "just-bash/browser";
import type { Database } from "../files/database.ts";
import { runGitCommand } from "../git/commands.ts";
import { fail, refuse } from "../git/line/answers.ts";
import { readCall } from "../git/line/call.ts";
import { readFlags } from "../git/line/flags.ts";
import { rememberFacts } from "../git/run-package.ts";
import { createTurns } from "../git/turns.ts";

type CustomCommand = NonNullable<
  NonNullable<ConstructorParameters<typeof Bash>[0]>["customCommands"]
>[number];
type ShellCommand = Exclude<CustomCommand, { load: unknown }>;
type Context = Parameters<ShellCommand["execute"]>[1];

/** Returns the first path that leads to no folder, each taken from the one before it; undefined if all do. */
async function findMissing({ fs, cwd }: Context, folders: readonly string[]): Promise<string | undefined> {
  let at = cwd;
  for (const folder of folders) {
    at = fs.resolvePath(at, folder);
    const isFolder = await fs.stat(at).then(
      ({ isDirectory }) => isDirectory,
      () => false,
    );
    if (!isFolder) return folder;
  }
  return undefined;
}

/** Two commands at a time would overwrite each other's index. */
const takeTurn = createTurns();

/** `git` as a command of the shell. */
export function createGitCommand(database: Database): ShellCommand {
  return {
    name: "git",
    execute: (given, context) =>
      takeTurn(database, async () => {
        const { folders, settings, args: line } = readCall(given);
        const { args, isQuiet, refusal } = readFlags(line);
        if (refusal !== null) return refusal;
        if (/^-(?!-version$|-help$|h$)/.test(args[0] ?? ""))
          return refuse("git", `${args[0]} before its command`, "use -C <folder> or -c <name>=<value>");
        const missing = await findMissing(context, folders);
        if (missing !== undefined)
          return fail(`fatal: cannot change to '${missing}': No such file or directory\n`);
        const cwd = folders.reduce((at, folder) => context.fs.resolvePath(at, folder), context.cwd);
        const here = { ...context, cwd, fs: rememberFacts(context.fs) };
        const result = await runGitCommand({ args, context: here, settings });
        return isQuiet && result.exitCode === 0 ? { ...result, stdout: "", stderr: "" } : result;
      }),
  };
}
