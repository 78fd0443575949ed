import { formatDiagnostics } from "../../config/document/diagnostics.ts";
import { checkTypes } from "../extensions/types.ts";

/** Reports the type errors in the extensions of a served team. */

/**
 * Creates a check that runs behind the server and prints what is wrong unless it was printed last. While one runs, at most
 * one more waits, which sees whatever changes until then; the promise resolves once what was asked for is checked.
 */
export const createTypeReport = (
  root: string,
  team: string,
  print: (line: string) => void,
): (() => Promise<void>) => {
  let known = "";
  let running = Promise.resolve();
  let pending: Promise<void> | null = null;
  const check = async (): Promise<void> => {
    pending = null;
    // An unused name is no mistake while its file is being written.
    const errors = (await checkTypes(root, team)).filter(({ severity }) => severity === "error");
    const found = formatDiagnostics(errors).join("\n");
    if (found !== "" && found !== known)
      print(`${found}\n${team} is served anyway; limpet deploy refuses it.`);
    known = found;
  };
  return () => {
    pending ??= running = running
      .then(check)
      .catch((fault: unknown) => print(`The types were not checked: ${String(fault)}`));
    return pending;
  };
};
