import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromiumPath } from "./chromium.ts";

/** The release that wrangler would otherwise download. */
const release = "linux-126.0.6478.182";

interface ChromeCache {
  readonly folder: string;
  /** The processes of all browsers that were started with it and still run. */
  readonly running: () => readonly number[];
  /** Ends what still runs, and removes the folder. */
  readonly remove: () => void;
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/**
 * Makes a cache folder in which wrangler finds this machine's Chromium as the browser of its local `BROWSER` binding; the
 * folder of the user is not touched.
 */
export const createChromeCache = (): ChromeCache => {
  const folder = mkdtempSync(join(tmpdir(), "limpet-chrome-"));
  const home = join(folder, ".wrangler/chrome", release);
  const program = join(home, "chrome-linux64/chrome");
  const log = join(folder, "started");
  mkdirSync(join(home, "chrome-linux64"), { recursive: true });
  writeFileSync(log, "");
  writeFileSync(program, `#!/bin/sh\necho $$ >> ${log}\nexec ${chromiumPath()} --no-sandbox "$@"\n`);
  chmodSync(program, 0o755);
  writeFileSync(join(home, ".miniflare-install-complete"), "");
  const running = (): readonly number[] =>
    readFileSync(log, "utf8").split("\n").filter(Boolean).map(Number).filter(isRunning);
  return {
    folder,
    running,
    remove: () => {
      // Wrangler starts each in a group of its own.
      for (const pid of running()) process.kill(-pid, "SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
