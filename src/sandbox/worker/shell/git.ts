import type { Bash } from "just-bash/browser";
import { createGit } from "#git";
import type { Database } from "../files/database.ts";

type CustomCommand = NonNullable<
  NonNullable<ConstructorParameters<typeof Bash>[0]>["customCommands"]
>[number];
type ShellCommand = Exclude<CustomCommand, { load: unknown }>;

/** The author of commits unless the environment or the repository names another. */
const identity = { name: "Limpet", email: "agent@localhost" };

/** Commands that may be told to be quiet; the package does not know the option. */
const quietable = ["init", "commit"];

const failure = (message: string) => ({ stdout: "", stderr: `fatal: ${message}\n`, exitCode: 129 });

/** A command line without what the package does not know: folders to run in, no pager, no output, `add --`. */
interface GitCall {
  readonly folders: readonly string[];
  readonly args: readonly string[];
  readonly isQuiet: boolean;
}

function readGitCall(given: readonly string[]): GitCall {
  const folders: string[] = [];
  let [command = "", ...args] = given;
  while (command === "-C" || command === "--no-pager") {
    if (command === "-C") folders.push(args.shift() ?? ".");
    [command = "", ...args] = args;
  }
  const isQuiet = quietable.includes(command) && (args[0] === "-q" || args[0] === "--quiet");
  const separator = command === "add" ? args.indexOf("--") : -1;
  const kept = args.filter((_, index) => index !== separator && !(isQuiet && index === 0));
  return { folders, args: command === "" ? kept : [command, ...kept], isQuiet };
}

/** The last git command of each workspace: one runs at a time, since two would overwrite each other's index. */
const queues = new WeakMap<Database, Promise<unknown>>();

async function inTurn<Result>(database: Database, run: () => Promise<Result>): Promise<Result> {
  const before = queues.get(database);
  const { promise, resolve } = Promise.withResolvers<void>();
  queues.set(database, promise);
  await before;
  try {
    return await run();
  } finally {
    resolve();
  }
}

/** `git` as a command of the shell: local repositories only, without hooks and without the network. */
export function createGitCommand(database: Database): ShellCommand {
  const git = createGit({ network: false, identity });
  return {
    name: "git",
    execute: (given, context) =>
      inTurn(database, async () => {
        const { folders, args, isQuiet } = readGitCall(given);
        if (/^-(?!-version$|-help$|h$)/.test(args[0] ?? ""))
          return failure(`this git has no option ${args[0]} before its command`);
        const cwd = folders.reduce((at, folder) => context.fs.resolvePath(at, folder), context.cwd);
        const result = await git.execute([...args], { ...context, cwd });
        return isQuiet && result.exitCode === 0 ? { ...result, stdout: "" } : result;
      }),
  };
}
