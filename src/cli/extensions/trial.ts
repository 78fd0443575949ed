import { registerHooks } from "node:module";
import { dirname } from "node:path";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import type { LoadFault } from "./fault.ts";
import { explainFault, isWithin, placeOfCall, RefusedImport } from "./fault.ts";

/**
 * Runs in a thread of its own and loads a team's extensions there as a Worker would: their own code is refused what
 * a Worker does not have. It reports what is wrong, or null.
 */

/** Parameters of the thread. */
export interface TrialOptions {
  readonly root: string;
  /** `extensions.ts`. */
  readonly path: string;
}

const { root, path } = workerData as TrialOptions;
const folder = dirname(path);

/**
 * Functions that a Worker may use only when it is called, not while its modules are loaded: time, network and
 * randomness.
 */
const forbidden = [
  [globalThis, "fetch"],
  [globalThis, "setTimeout"],
  [globalThis, "setInterval"],
  [crypto, "randomUUID"],
  [crypto, "getRandomValues"],
] as const;

for (const [owner, name] of forbidden) {
  const original: unknown = Reflect.get(owner, name);
  const refuse = function (this: unknown, ...given: readonly unknown[]): unknown {
    if (placeOfCall(new Error().stack ?? "", folder) !== null)
      throw new Error(`a Worker has no ${name} while its modules are loaded; use it in a function`);
    return typeof original === "function" ? Reflect.apply(original, this, given) : undefined;
  };
  Reflect.set(owner, name, refuse);
}

/**
 * Matches modules of Node that need this machine: its files, processes or threads. A Worker's runtime offers empty
 * stubs of them, which fail when they are used.
 */
const nodeOnly =
  /^(node:)?(child_process|cluster|fs|fs\/promises|http2|inspector|inspector\/promises|repl|vm|wasi|worker_threads)$|^node:(sea|sqlite|test|test\/reporters)$/;

registerHooks({
  resolve: (specifier, context, next) => {
    const { parentURL = "" } = context;
    if (nodeOnly.test(specifier) && isWithin(folder, parentURL))
      throw new RefusedImport(fileURLToPath(parentURL), specifier);
    return next(specifier, context);
  },
});

const findFault = async (): Promise<LoadFault | null> => {
  try {
    await import(pathToFileURL(path).href);
    return null;
  } catch (error) {
    return error instanceof Error ? explainFault(error, path, root) : { error: "it throws" };
  }
};

const fault = await findFault();
// Promises that were rejected meanwhile without a handler end the thread here.
await setImmediate();
parentPort?.postMessage(fault, []);
