import { runBuild } from "./build.ts";
import { buildShell } from "./build-shell.ts";
import { runDeploy } from "./deploy/deploy.ts";
import type { CliCommand } from "./dispatch.ts";
import { dispatch, remoteCommands } from "./dispatch.ts";
import { runExplain } from "./explain.ts";
import { runNewTeam } from "./new-team.ts";
import type { ExitCode, Terminal } from "./usage.ts";
import { runValidate } from "./validate.ts";

/** This file is the command line of a clone. */

const commands: Readonly<Record<string, CliCommand>> = {
  validate: runValidate,
  build: runBuild,
  "build-shell": buildShell,
  "build-client": async (terminal) => (await import("./build-client/build-client.ts")).buildClient(terminal),
  "new-team": runNewTeam,
  explain: runExplain,
  deploy: runDeploy,
  ...remoteCommands,
};

/** Runs one command line and returns the exit code. */
export const run = (given: readonly string[], terminal: Terminal): Promise<ExitCode> =>
  dispatch(commands, given, terminal);
