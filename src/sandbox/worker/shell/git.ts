import type { Bash } from "just-bash/browser";
import type { Database } from "../files/database.ts";
import { runGitCommand } from "../git/commands.ts";

type CustomCommand = NonNullable<
  NonNullable<ConstructorParameters<typeof Bash>[0]>["customCommands"]
>[number];
type ShellCommand = Exclude<CustomCommand, { load: unknown }>;

/** Commands that may be told to be quiet; the package does not know the option. */
const quietable = ["init", "commit"];

const failure = (message: string) => ({ stdout: "", stderr: `fatal: ${message}\n`, exitCode: 129 });

/** A setting of one call: names of files in ASCII only, or as they are. */
const quotePath = /^core\.quotepath=(?:true|false)$/i;

/** A command line without what the package does not know: folders to run in, settings, no pager, no output, `add --`. */
interface GitCall {
  readonly folders: readonly string[];
  readonly asciiOnly: boolean;
  readonly args: readonly string[];
  readonly isQuiet: boolean;
}

/** Reads what stands before the command. */
function readSettings(given: readonly string[]): Pick<GitCall, "folders" | "asciiOnly" | "args"> {
  const folders: string[] = [];
  let asciiOnly = true;
  let at = 0;
  for (; at < given.length; at += 1) {
    const [option, value = ""] = given.slice(at);
    if (option === "--no-pager") continue;
    if (option === "-C") folders.push(value || ".");
    else if (option === "-c" && quotePath.test(value)) asciiOnly = /true$/i.test(value);
    else break;
    at += 1;
  }
  return { folders, asciiOnly, args: given.slice(at) };
}

function readGitCall(given: readonly string[]): GitCall {
  const settings = readSettings(given);
  const [command = "", ...args] = settings.args;
  const isQuiet = quietable.includes(command) && (args[0] === "-q" || args[0] === "--quiet");
  const separator = command === "add" ? args.indexOf("--") : -1;
  const kept = args.filter((_, index) => index !== separator && !(isQuiet && index === 0));
  return { ...settings, args: command === "" ? kept : [command, ...kept], isQuiet };
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

/** `git` as a command of the shell. */
export function createGitCommand(database: Database): ShellCommand {
  return {
    name: "git",
    execute: (given, context) =>
      inTurn(database, async () => {
        const { folders, asciiOnly, args, isQuiet } = readGitCall(given);
        if (/^-(?!-version$|-help$|h$)/.test(args[0] ?? ""))
          return failure(`this git has no option ${args[0]} before its command`);
        const cwd = folders.reduce((at, folder) => context.fs.resolvePath(at, folder), context.cwd);
        const result = await runGitCommand({ args, context: { ...context, cwd }, asciiOnly });
        return isQuiet && result.exitCode === 0 ? { ...result, stdout: "" } : result;
      }),
  };
}
