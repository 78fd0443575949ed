import type { Bash } from "just-bash/browser";
import type { Database } from "../files/database.ts";
import { runGitCommand } from "../git/commands.ts";
import { createTurns } from "../git/turns.ts";

type CustomCommand = NonNullable<
  NonNullable<ConstructorParameters<typeof Bash>[0]>["customCommands"]
>[number];
type ShellCommand = Exclude<CustomCommand, { load: unknown }>;

/** Commands that print nothing besides their result if `--quiet` is set; the package does not know the option. */
const quietable = new Set(
  "init clone add commit checkout switch restore reset stash merge rebase pull fetch push branch rm diff grep".split(
    " ",
  ),
);

/** Option whose value is the next argument, whatever that looks like. */
const takesText = /^(?:-[a-zA-Z]*[mF]|--message|--file)$/;

const failure = (message: string) => ({ stdout: "", stderr: `fatal: ${message}\n`, exitCode: 129 });

/** Matches the setting for names of files: in ASCII only, or unquoted. */
const quotePath = /^core\.quotepath=(?:true|false)$/i;

/** Command line without what the package does not know: folders to run in, settings, no pager, no output, `add --`. */
interface GitCall {
  readonly folders: readonly string[];
  readonly asciiOnly: boolean;
  readonly args: readonly string[];
  readonly isQuiet: boolean;
}

/** Reads the options before the command. */
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

/** Removes the option `--quiet` from the arguments, alone or among the letters of a commit's others. */
function withoutQuiet(command: string, args: readonly string[]): Pick<GitCall, "args" | "isQuiet"> {
  if (!quietable.has(command)) return { args, isQuiet: false };
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  const kept = args.flatMap((arg, at) => {
    if (at >= end || takesText.test(args[at - 1] ?? "")) return [arg];
    if (arg === "-q" || arg === "--quiet") return [];
    return [command === "commit" ? arg.replace(/^(-[a-eg-ln-z]*?)q/, "$1") : arg];
  });
  return { args: kept, isQuiet: kept.length < args.length || kept.join(" ") !== args.join(" ") };
}

function readGitCall(given: readonly string[]): GitCall {
  const settings = readSettings(given);
  const [command = "", ...rest] = settings.args;
  const { args, isQuiet } = withoutQuiet(command, rest);
  const separator = command === "add" ? args.indexOf("--") : -1;
  const kept = args.filter((_, index) => index !== separator);
  return { ...settings, args: command === "" ? kept : [command, ...kept], isQuiet };
}

/** Runs commands one after the other, since two at a time would overwrite each other's index. */
const takeTurn = createTurns();

/** `git` as a command of the shell. */
export function createGitCommand(database: Database): ShellCommand {
  return {
    name: "git",
    execute: (given, context) =>
      takeTurn(database, async () => {
        const { folders, asciiOnly, args, isQuiet } = readGitCall(given);
        if (/^-(?!-version$|-help$|h$)/.test(args[0] ?? ""))
          return failure(`this git has no option ${args[0]} before its command`);
        const cwd = folders.reduce((at, folder) => context.fs.resolvePath(at, folder), context.cwd);
        const result = await runGitCommand({ args, context: { ...context, cwd }, asciiOnly });
        if (!isQuiet || result.exitCode !== 0) return result;
        return { stdout: "", stderr: "", exitCode: args[0] === "diff" && result.stdout !== "" ? 1 : 0 };
      }),
  };
}
