import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { teamFolder } from "../../config/build/files.ts";
import type { ExtensionModule } from "../../config/extensions.ts";
import type { LoadFault } from "./fault.ts";
import { explainFault } from "./fault.ts";
import type { TrialOptions } from "./trial.ts";

/** Loads a team's `extensions.ts`: first in a thread that can be ended, then here once it is known to load. */

/** Seconds that extensions may take to load; a busy machine needs a second or two. */
const limitSeconds = 10;

/** Node's exit code if a module awaits a promise that never settles. */
const unsettled = 13;

/** Loads extensions in a thread, whose copy is discarded; returns their fault, or null. */
const tryLoading = async (options: TrialOptions): Promise<LoadFault | null> => {
  const { promise, resolve } = Promise.withResolvers<LoadFault | null>();
  const thread = new Worker(join(import.meta.dirname, "trial.ts"), {
    workerData: options,
    // Options of this process may be meant for its own first module.
    execArgv: [],
    // Their output is printed when they are finally loaded.
    stdout: true,
    stderr: true,
  });
  thread.once("message", resolve);
  thread.once("error", (error) =>
    resolve(
      error instanceof Error ? explainFault(error, options.path, options.root) : { error: "it throws" },
    ),
  );
  thread.once("exit", (code) =>
    resolve({
      error:
        code === unsettled
          ? "it awaits a promise that never settles; await it in a function"
          : "it ends the process that loads it",
    }),
  );
  const timer = setTimeout(
    () => resolve({ error: `it is not done after ${limitSeconds} s; move slow work into a function` }),
    limitSeconds * 1_000,
  );
  const fault = await promise;
  clearTimeout(timer);
  await thread.terminate();
  return fault;
};

/** Loads `extensions.ts` if the team has one; Node strips its types. */
export const loadExtensions = async (root: string, team: string): Promise<ExtensionModule | undefined> => {
  const path = join(teamFolder(root, team), "extensions.ts");
  if (!existsSync(path)) return undefined;
  const fault = await tryLoading({ root, path });
  if (fault !== null) return fault;
  return { exports: { ...((await import(pathToFileURL(path).href)) as Record<string, unknown>) } };
};
