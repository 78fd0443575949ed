import { formatDiagnostics } from "../../config/document/diagnostics.ts";
import { checkTypes } from "../extensions/types.ts";

/** This file tells what the types forbid in the extensions of a team that is served. */

/** Creates a check that runs behind the server, one at a time, and prints what is wrong unless it was printed last. */
export const createTypeReport = (root: string, team: string, print: (line: string) => void): (() => void) => {
  let known = "";
  let checked: Promise<void> = Promise.resolve();
  const check = async (): Promise<void> => {
    const found = formatDiagnostics(await checkTypes(root, team)).join("\n");
    if (found !== "" && found !== known)
      print(`${found}\n${team} is served all the same; limpet deploy refuses it.`);
    known = found;
  };
  return () => {
    checked = checked
      .then(check)
      .catch((fault: unknown) => print(`The types were not checked: ${String(fault)}`));
  };
};
