import { hasErrors } from "../config/diagnostics.ts";
import { listTeams } from "../config/files.ts";
import { compileFolder, printDiagnostics } from "./compile.ts";
import type { Arguments, ExitCode, Terminal } from "./usage.ts";
import { exitCodes } from "./usage.ts";

/** `limpet validate`: checks teams and writes nothing. */
export const validate = async (terminal: Terminal, { names, flags }: Arguments): Promise<ExitCode> => {
  const teams = names.length === 0 ? listTeams(terminal.root) : names;
  let failed = false;
  for (const team of teams) {
    const { diagnostics } = await compileFolder(terminal.root, team);
    printDiagnostics(terminal, diagnostics, flags.json === true);
    const wrong = hasErrors(diagnostics) || (flags.strict === true && diagnostics.length > 0);
    if (!wrong && flags.json !== true) terminal.print(`${team} is valid`);
    failed ||= wrong;
  }
  return failed ? exitCodes.diagnostics : exitCodes.fine;
};
