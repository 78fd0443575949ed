import { runBuild } from "./build.ts";
import { buildShell } from "./build-shell.ts";
import { runDeploy } from "./deploy/deploy.ts";
import type { ProjectCommands } from "./dispatch.ts";
import { dispatch, projectNames, remoteCommands } from "./dispatch.ts";
import { runExplain } from "./explain.ts";
import { runNewTeam } from "./new-team.ts";
import { checkTeamNames } from "./team-names.ts";
import type { ExitCode, Terminal } from "./usage.ts";
import { runValidate } from "./validate.ts";

/** This file is the command line of a clone. */

const projectCommands: ProjectCommands = {
  validate: runValidate,
  build: runBuild,
  "build-shell": buildShell,
  "build-client": async (terminal) => (await import("./build-client/build-client.ts")).buildClient(terminal),
  "new-team": runNewTeam,
  explain: runExplain,
  deploy: runDeploy,
};

const commands = {
  ...Object.fromEntries(projectNames.map((name) => [name, checkTeamNames(projectCommands[name])])),
  ...remoteCommands,
};

/** Runs one command line and returns the exit code. */
export const run = (given: readonly string[], terminal: Terminal): Promise<ExitCode> =>
  dispatch(commands, given, terminal);
