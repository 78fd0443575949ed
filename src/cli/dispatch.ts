import { teamNameProblem } from "../config/build/files.ts";
import type { CommandArguments, ExitCode, Terminal } from "./usage.ts";
import { exitCodes, helpOf, parseCommandLine, usageText } from "./usage.ts";

/** This file finds the command that a command line is for, and runs it. */

export type CliCommand = (terminal: Terminal, given: CommandArguments) => Promise<ExitCode>;

/** These commands speak with a running server; the client is loaded only for them. */
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

/** Holds the commands that need a server and no project. */
export const remoteCommands: Readonly<Record<string, CliCommand>> = Object.fromEntries(
  remoteNames.map((name) => [name, runRemoteLazily]),
);

/** Returns whether `explain` describes the product and not a team. */
const isGeneral = ({ kinds, effects }: CommandArguments["flags"]): boolean =>
  kinds === true || effects === true;

const namesOneTeam: ReadonlySet<string | undefined> = new Set(["new-team", "deploy"]);

/** Says what is wrong with the names that a command was given; null if nothing is. Others have names of their own. */
const namesProblem = (given: CommandArguments): string | null =>
  isRemote(given.command) ? null : teamNamesProblem(given);

const teamNamesProblem = ({ command, names, flags }: CommandArguments): string | null => {
  if (command === "build" && names.length === 0 && flags.all !== true) return "build needs a team, or --all";
  if (namesOneTeam.has(command) && names.length !== 1) return `${command} needs the name of one team`;
  if (command === "explain" && !isGeneral(flags) && (names.length < 1 || names.length > 2)) {
    return "explain needs a team, and may name one of its agents";
  }
  const teams = command === "explain" ? names.slice(0, 1) : names;
  return teams.map(teamNameProblem).find((problem) => problem !== null) ?? null;
};

/** Runs `command`; a file that cannot be read or written becomes exit code 3. */
const runGuarded = async (
  command: CliCommand,
  terminal: Terminal,
  given: CommandArguments,
): Promise<ExitCode> => {
  try {
    return await command(terminal, given);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && "syscall" in error)) throw error;
    terminal.print(error.message);
    return exitCodes.io;
  }
};

/** The help of one command, or of all. */
const helpText = (command: string | undefined): string => {
  if (command === undefined) return usageText;
  return helpOf(command) + (isRemote(command) ? "\nIt takes --url, --key and --json as well." : "");
};

/** Runs one command line with the commands that there are, and returns the exit code. */
export const dispatch = async (
  commands: Readonly<Record<string, CliCommand>>,
  given: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> => {
  const refuse = (problem: string, command?: string): ExitCode => {
    const help =
      command === undefined
        ? "limpet --help lists the commands"
        : `limpet ${command} --help lists what it takes`;
    terminal.print(`${problem}\n${help}`);
    return exitCodes.usage;
  };
  const parsed = parseCommandLine(given);
  if (!parsed.ok) return refuse(parsed.problem, parsed.command);
  const { command: name, flags } = parsed.arguments;
  if (flags.help === true) {
    terminal.print(helpText(name));
    return exitCodes.fine;
  }
  const command = name === undefined ? undefined : commands[name];
  if (command === undefined) return refuse("no command was given");
  const problem = namesProblem(parsed.arguments);
  return problem === null ? runGuarded(command, terminal, parsed.arguments) : refuse(problem, name);
};
