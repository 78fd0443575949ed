import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { statSync, watch } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { explainSettingsFault, isSettingsFault } from "./output.ts";

/**
 * Keeps wrangler running. It ends when it cannot use its settings, which may be a file that was read while it was
 * written, or when the runtime refuses the team's code; both are mended without a restart of `npm start`.
 */

/** Milliseconds that files must be unchanged before they are read: editors and copies write them in several steps. */
const settleMs = 500;
const pollMs = 50;

export interface RunningWrangler {
  readonly child: ChildProcess;
  /** Returns the last lines of its output, unfiltered. */
  readonly lastLines: () => readonly string[];
}

export interface KeepOptions {
  readonly root: string;
  /** Settings files that wrangler reads, relative to the root. */
  readonly settings: readonly string[];
  readonly start: (show: (line: string) => void) => RunningWrangler;
  /** Waits until the server answers; returns false if it ends before. */
  readonly awaitAnswer: (isRunning: () => boolean) => Promise<boolean>;
  readonly print: (line: string) => void;
}

/** Returns a text that changes whenever a settings file is written. */
const stampSettings = ({ root, settings }: KeepOptions): string =>
  settings
    .map((file) => statSync(join(root, file), { throwIfNoEntry: false }))
    .map((found) => (found === undefined ? "" : `${found.ino} ${found.size} ${found.mtimeMs}`))
    .join();

/** Waits until the settings files are unchanged for a while. */
const awaitSettled = async (options: KeepOptions): Promise<void> => {
  let seen: string | null = null;
  for (let now = stampSettings(options); now !== seen; now = stampSettings(options)) {
    seen = now;
    await setTimeout(settleMs);
  }
};

/** Waits until the settings differ from those that were tried, or a file below `config/` changes. */
const awaitMending = async (options: KeepOptions, tried: string): Promise<void> => {
  const watcher = watch(join(options.root, "config"), { recursive: true });
  const changed = once(watcher, "change").then(() => true);
  while (stampSettings(options) === tried)
    if (await Promise.race([changed, setTimeout(pollMs, false)])) break;
  watcher.close();
};

/**
 * Waits until the whole output of an ended process has been read; a process that it left behind does not delay
 * this.
 */
const awaitLastWords = async (child: ChildProcess): Promise<void> => {
  await Promise.race([once(child, "close"), setTimeout(settleMs)]);
};

const printFault = ({ print }: KeepOptions, lastLines: readonly string[]): void => {
  const cause = explainSettingsFault(lastLines);
  if (cause !== null) print(cause);
  print("Fix it: the server starts again after the next change of wrangler.toml or below config/.");
};

/** Shows why a server that never served ended, in its own words if there is no better explanation. */
const showLastWords = (lastLines: readonly string[], show: (line: string) => void): void => {
  const cause = explainSettingsFault(lastLines);
  for (const line of cause === null ? lastLines : [cause]) show(line);
};

/** Returns whether a process ended by itself with an error; the code is null after a signal. */
const isFailure = (code: number | null): boolean => code !== null && code !== 0;

/**
 * Starts wrangler, and restarts it when a change has ended it. Call the returned function once the server is
 * reachable.
 */
export const keepRunning = (options: KeepOptions): (() => void) => {
  const { start, awaitAnswer, print } = options;
  let hasServed = false;
  let isServing = false;
  let isStopping = false;
  let running: ChildProcess | null = null;
  // A person who stopped the server knows why it ends.
  const show = (line: string): void => (isStopping ? undefined : print(line));
  const announce = async (child: ChildProcess): Promise<void> => {
    if (!(await awaitAnswer(() => running === child)) || running !== child) return;
    isServing = true;
    show("The server answers again.");
  };
  const runOnce = async (): Promise<void> => {
    const tried = stampSettings(options);
    isServing = false;
    const { child, lastLines } = start(show);
    running = child;
    if (hasServed) void announce(child);
    const [code] = (await once(child, "exit")) as [number | null];
    running = null;
    if (!hasServed) showLastWords(lastLines(), show);
    if (!hasServed || isStopping || !isFailure(code)) process.exit(code ?? 1);
    await awaitLastWords(child);
    // A file that was read while it was written is not a mistake: it is read once more before anything is reported.
    const isStale = isServing || stampSettings(options) !== tried;
    if (isSettingsFault(lastLines()) && isStale) print("wrangler.toml has changed: the server starts again.");
    else {
      printFault(options, lastLines());
      await awaitMending(options, isServing ? stampSettings(options) : tried);
    }
    await awaitSettled(options);
  };
  const run = async (): Promise<never> => {
    for (;;) await runOnce();
  };
  const stop = (signal: NodeJS.Signals): void => {
    isStopping = true;
    if (running === null) process.exit(1);
    // A terminal sends its interrupt to wrangler as well, which ends in its own time.
    else if (signal !== "SIGINT") running.kill(signal);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  void run();
  return () => {
    hasServed = true;
    isServing = true;
  };
};
