import { teamNameProblem } from "../config/build/files.ts";
import type { CliCommand, ProjectCommands } from "./dispatch.ts";
import { dispatch, projectNames, remoteCommands } from "./dispatch.ts";
import type { CommandArguments, ExitCode, Terminal } from "./usage.ts";
import { refuseUsage } from "./usage.ts";

/** Command line of a clone. Each command loads only its own code; otherwise every command would take a second. */

const projectCommands: ProjectCommands = {
  validate: async (...given) => (await import("./validate.ts")).runValidate(...given),
  build: async (...given) => (await import("./build/run-build.ts")).runBuild(...given),
  "build-shell": async (terminal) => (await import("./build/shell.ts")).buildShell(terminal),
  "build-client": async (terminal) => (await import("./build-client/build-client.ts")).buildClient(terminal),
  "new-team": async (...given) => (await import("./new-team.ts")).runNewTeam(...given),
  explain: async (...given) => (await import("./explain.ts")).runExplain(...given),
  deploy: async (...given) => (await import("./deploy/deploy.ts")).runDeploy(...given),
};

/** Finds what is wrong with the names and flags of a command; null if nothing is. */
type FindProblem = (given: CommandArguments) => string | null;

/** Flags by which `explain` describes the product and not a team. */
const generalFlags = ["kinds", "effects", "tools"] as const;

const findExplainProblem: FindProblem = ({ names, flags }) => {
  const [general, another] = generalFlags.filter((each) => flags[each] === true);
  if (another !== undefined) return `explain describes one thing at a time: --${general} or --${another}`;
  if (general !== undefined)
    return names.length === 0 ? null : `explain --${general} is the same for every team, and takes no name`;
  return names.length === 1 || names.length === 2
    ? null
    : "explain needs a team, and may name one of its agents";
};

const findBuildProblem: FindProblem = ({ names, flags }) => {
  if (names.length > 0 && flags.all === true) return "build takes teams or --all, and not both";
  return names.length > 0 || flags.all === true ? null : "build needs a team, or --all";
};

const findCountProblem: FindProblem = ({ command, names }) =>
  names.length === 1 ? null : `${command} needs the name of one team`;

const findNewTeamProblem: FindProblem = (given) =>
  given.flags.from !== undefined && given.flags.import !== undefined
    ? "new-team copies a team with --from or takes over a file with --import, and not both"
    : findCountProblem(given);

const problemFinders: ReadonlyMap<string | undefined, FindProblem> = new Map([
  ["build", findBuildProblem],
  ["explain", findExplainProblem],
  ["new-team", findNewTeamProblem],
  ["deploy", findCountProblem],
]);

/** Returns what is wrong with the names of a command; null if nothing is. */
const findNamesProblem: FindProblem = (given) => {
  const { command, names } = given;
  const problem = problemFinders.get(command)?.(given) ?? null;
  const teams = command === "explain" ? names.slice(0, 1) : names;
  return problem ?? teams.map(teamNameProblem).find((each) => each !== null) ?? null;
};

/** Returns a command that runs only if its names are possible names of teams. */
const checkTeamNames =
  (command: CliCommand): CliCommand =>
  async (terminal, given) => {
    const problem = findNamesProblem(given);
    return problem === null ? command(terminal, given) : refuseUsage(terminal, problem, given.command);
  };

const commands = {
  ...Object.fromEntries(projectNames.map((name) => [name, checkTeamNames(projectCommands[name])])),
  ...remoteCommands,
};

/** Runs one command line and returns the exit code. */
export const run = (given: readonly string[], terminal: Terminal): Promise<ExitCode> =>
  dispatch(commands, given, terminal);
