import { hasErrors } from "../config/document/diagnostics.ts";
import { listTeams, findMisnamedTeams } from "../config/build/files.ts";
import { compileTypedFolder, printDiagnostics } from "./compile.ts";
import type { CommandArguments, ExitCode, Terminal } from "./usage.ts";
import { exitCodes } from "./usage.ts";

/** Runs `limpet validate`, which checks teams and writes nothing. */
export const runValidate = async (
  terminal: Terminal,
  { names, flags }: CommandArguments,
): Promise<ExitCode> => {
  const all = names.length === 0;
  const teams = all ? listTeams(terminal.root) : names;
  const misnamed = all ? findMisnamedTeams(terminal.root) : [];
  printDiagnostics(terminal, misnamed, flags.json === true);
  let failed = misnamed.length > 0;
  for (const team of teams) {
    const { diagnostics } = await compileTypedFolder(terminal.root, team);
    printDiagnostics(terminal, diagnostics, flags.json === true);
    const wrong = hasErrors(diagnostics) || (flags.strict === true && diagnostics.length > 0);
    if (!wrong && flags.json !== true) terminal.print(`${team} is valid`);
    failed ||= wrong;
  }
  return failed ? exitCodes.diagnostics : exitCodes.fine;
};
