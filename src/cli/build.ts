import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildFiles } from "../config/build/emit.ts";
import { listTeams, findMisnamedTeams, writeBuild } from "../config/build/files.ts";
import { writeShell } from "./build-shell.ts";
import { compileFolder, printDiagnostics } from "./compile.ts";
import type { CommandArguments, ExitCode, Terminal } from "./usage.ts";
import { exitCodes } from "./usage.ts";

/**
 * Runs `limpet build`: it checks teams and writes `.limpet/<team>/` and the shell that all of them share. A team with
 * errors keeps its last build, which `wrangler dev` goes on serving.
 */
export const runBuild = async (terminal: Terminal, { names, flags }: CommandArguments): Promise<ExitCode> => {
  const teams = flags.all === true ? listTeams(terminal.root) : names;
  const misnamed = flags.all === true ? findMisnamedTeams(terminal.root) : [];
  printDiagnostics(terminal, misnamed, flags.json === true);
  await writeShell();
  let failed = misnamed.length > 0;
  for (const name of teams) {
    const compiled = await compileFolder(terminal.root, name);
    printDiagnostics(terminal, compiled.diagnostics, flags.json === true);
    const files = buildFiles(compiled, compiled.extensions !== undefined);
    if (files === null) {
      const kept = terminal.serving === true && existsSync(join(terminal.root, ".limpet", name, "worker.js"));
      if (kept) terminal.print(`${name} has errors; its last good build goes on serving`);
      failed ||= !kept;
      continue;
    }
    writeBuild(terminal.root, name, files);
    if (flags.json !== true) terminal.print(`built ${name} into .limpet/${name}/`);
  }
  return failed ? exitCodes.diagnostics : exitCodes.fine;
};
