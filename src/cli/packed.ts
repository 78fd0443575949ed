import type { CliCommand } from "./dispatch.ts";
import { dispatch, projectNames, remoteCommands } from "./dispatch.ts";
import { runProcess } from "./process.ts";
import { exitCodes } from "./usage.ts";

/** Command line of the package, which has no project to work on: only commands for a server work. */

const refuse: CliCommand = async (terminal, { command }) => {
  terminal.print(`limpet ${command} works on a project: run it in a clone of Limpet, not from its package.`);
  return exitCodes.usage;
};

await runProcess(
  (given, terminal) =>
    dispatch(
      { ...Object.fromEntries(projectNames.map((name) => [name, refuse])), ...remoteCommands },
      given,
      terminal,
    ),
  process.cwd(),
);
