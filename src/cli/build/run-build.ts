import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildFiles } from "../../config/build/emit.ts";
import { listTeams, findMisnamedTeams, writeBuild } from "../../config/build/files.ts";
import { writeConsole } from "./console.ts";
import { writeDocuments } from "./documents.ts";
import { writeShell } from "./shell.ts";
import type { CompiledFolder } from "../compile.ts";
import { compileFolder, printDiagnostics } from "../compile.ts";
import { bundleExtensions } from "../extensions/bundle.ts";
import type { CommandArguments, ExitCode, Terminal } from "../usage.ts";
import { exitCodes } from "../usage.ts";

/** Compiles a team; with `--lock-mcp` its MCP servers are locked first, and it is compiled again with the new lock. */
const compileLocked = async (terminal: Terminal, name: string, flags: CommandArguments["flags"]) => {
  const compiled = await compileFolder(terminal.root, name, terminal.serving);
  if (flags["lock-mcp"] !== true || compiled.team === null) return { compiled, isLocked: true };
  const { lockServers } = await import("../lock-mcp.ts");
  const { isWhole, says } = await lockServers(terminal, compiled.team);
  if (says !== null && flags.json !== true) terminal.print(says);
  return { compiled: await compileFolder(terminal.root, name, terminal.serving), isLocked: isWhole };
};

/**
 * Returns the files of a team's build, its bundled extensions included; null if there are errors, which are
 * printed.
 */
const collectFiles = async (
  terminal: Terminal,
  name: string,
  compiled: CompiledFolder,
  json: boolean,
): Promise<ReadonlyMap<string, string> | null> => {
  const isExtended = compiled.extensions !== undefined;
  const files = buildFiles(compiled, isExtended);
  if (files === null || !isExtended) return files;
  const bundled = await bundleExtensions(terminal.root, name, join(terminal.root, ".limpet", name));
  if ("files" in bundled) return new Map([...files, ...bundled.files]);
  printDiagnostics(terminal, bundled.diagnostics, json);
  return null;
};

/**
 * Runs `limpet build`: checks teams and writes `.limpet/<team>/`, and the files that all share: the shell, the
 * documents and the console. A team with errors keeps its last build, which `wrangler dev` continues to serve.
 */
export const runBuild = async (terminal: Terminal, { names, flags }: CommandArguments): Promise<ExitCode> => {
  const teams = flags.all === true ? listTeams(terminal.root) : names;
  const misnamed = flags.all === true ? findMisnamedTeams(terminal.root) : [];
  printDiagnostics(terminal, misnamed, flags.json === true);
  let failed = misnamed.length > 0;
  for (const name of teams) {
    const { compiled, isLocked } = await compileLocked(terminal, name, flags);
    failed ||= !isLocked;
    printDiagnostics(terminal, compiled.diagnostics, flags.json === true);
    const files = await collectFiles(terminal, name, compiled, flags.json === true);
    if (files === null) {
      const kept = terminal.serving === true && existsSync(join(terminal.root, ".limpet", name, "worker.js"));
      if (kept) terminal.print(`${name} has errors; its last good build is still served`);
      failed ||= !kept;
      continue;
    }
    const isNew = writeBuild(terminal.root, name, files);
    if (flags.json !== true)
      terminal.print(
        isNew ? `built ${name} into .limpet/${name}/` : `${name} has not changed since its last build`,
      );
  }
  await writeShell();
  await writeDocuments();
  await writeConsole();
  return failed ? exitCodes.diagnostics : exitCodes.fine;
};
