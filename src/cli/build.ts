import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildFiles } from "../config/build/emit.ts";
import { listTeams, findMisnamedTeams, writeBuild } from "../config/build/files.ts";
import { writeConsole } from "./build-console.ts";
import { writeDocuments } from "./build-documents.ts";
import { writeShell } from "./build-shell.ts";
import { compileFolder, printDiagnostics } from "./compile.ts";
import type { CommandArguments, ExitCode, Terminal } from "./usage.ts";
import { exitCodes } from "./usage.ts";

/** Compiles a team; with `locks` its MCP servers are locked first, and it is compiled again with the new lock. */
const compileLocked = async (terminal: Terminal, name: string, locks: boolean) => {
  const compiled = await compileFolder(terminal.root, name, terminal.serving);
  if (!locks || compiled.team === null) return { compiled, isLocked: true };
  const { lockServers } = await import("./lock-mcp.ts");
  const isLocked = await lockServers(terminal, compiled.team);
  return { compiled: await compileFolder(terminal.root, name, terminal.serving), isLocked };
};

/**
 * Runs `limpet build`: it checks teams and writes `.limpet/<team>/`, and what all of them share: the shell, the documents
 * and the console. A team with errors keeps its last build, which `wrangler dev` goes on serving.
 */
export const runBuild = async (terminal: Terminal, { names, flags }: CommandArguments): Promise<ExitCode> => {
  const teams = flags.all === true ? listTeams(terminal.root) : names;
  const misnamed = flags.all === true ? findMisnamedTeams(terminal.root) : [];
  printDiagnostics(terminal, misnamed, flags.json === true);
  let failed = misnamed.length > 0;
  for (const name of teams) {
    const { compiled, isLocked } = await compileLocked(terminal, name, flags["lock-mcp"] === true);
    failed ||= !isLocked;
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
  await writeShell();
  await writeDocuments();
  await writeConsole();
  return failed ? exitCodes.diagnostics : exitCodes.fine;
};
