import type { CommandArguments, ExitCode, Terminal } from "./usage.ts";
import { exitCodes, helpOf, InvalidFileError, parseCommandLine, refuseUsage, usageText } from "./usage.ts";

/** Finds the command of a command line, and runs it. */

export type CliCommand = (terminal: Terminal, given: CommandArguments) => Promise<ExitCode>;

/** Commands for a running server; the client is loaded only for them. */
const remoteNames = [
  "chat",
  "send",
  "tail",
  "sessions",
  "asks",
  "answer",
  "cancel",
  "export",
  "keys",
] as const;

const isRemote = (command: string | undefined): boolean => remoteNames.some((name) => name === command);

const runRemoteLazily: CliCommand = async (terminal, given) =>
  (await import("./client/remote.ts")).runRemote(terminal, given);

/** Commands that need a server and no project. */
export const remoteCommands: Readonly<Record<string, CliCommand>> = Object.fromEntries(
  remoteNames.map((name) => [name, runRemoteLazily]),
);

/** Commands for a project. */
export const projectNames = [
  "validate",
  "build",
  "build-shell",
  "build-client",
  "new-team",
  "explain",
  "deploy",
] as const;

export type ProjectCommands = Readonly<Record<(typeof projectNames)[number], CliCommand>>;

/** Runs `command`; a file that is invalid becomes exit code 1, one that cannot be read or written 3. */
const runGuarded = async (
  command: CliCommand,
  terminal: Terminal,
  given: CommandArguments,
): Promise<ExitCode> => {
  try {
    return await command(terminal, given);
  } catch (error) {
    if (error instanceof InvalidFileError) {
      terminal.print(error.message);
      return exitCodes.diagnostics;
    }
    if (!(error instanceof Error && "code" in error && "syscall" in error)) throw error;
    terminal.print(error.message);
    return exitCodes.io;
  }
};

const helpText = (command: string | undefined): string => {
  if (command === undefined) return usageText;
  return helpOf(command) + (isRemote(command) ? "\nIt takes --url, --key and --json as well." : "");
};

/** Runs one command line with the given commands, and returns the exit code. */
export const dispatch = async (
  commands: Readonly<Record<string, CliCommand>>,
  given: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> => {
  const parsed = parseCommandLine(given);
  if (!parsed.ok) return refuseUsage(terminal, parsed.problem, parsed.command);
  const { command: name, flags } = parsed.arguments;
  if (flags.help === true) {
    terminal.print(helpText(name));
    return exitCodes.fine;
  }
  const command = name === undefined ? undefined : commands[name];
  if (command === undefined) return refuseUsage(terminal, "no command was given");
  return runGuarded(command, terminal, parsed.arguments);
};
