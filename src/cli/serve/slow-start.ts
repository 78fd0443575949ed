import type { RunningWrangler } from "./keep-running.ts";

/** Speaks up when wrangler does not come up, which a person would otherwise wait for without end. */

const slowMs = 60_000;
const longestMs = 180_000;

/** Milliseconds after which a server that does not end by itself is killed. */
const killMs = 5_000;

/** Says why nothing is served, with the last words of wrangler, and ends. */
const giveUp = ({ child, lastLines }: RunningWrangler, print: (line: string) => void): void => {
  for (const line of lastLines()) print(line);
  print(
    `The server is not up after ${longestMs / 60_000} minutes; above are the last lines of wrangler. End other wrangler and workerd processes of this folder, or start with other sessions: npm start -- --persist-to .wrangler/state/new`,
  );
  child.once("exit", () => process.exit(1));
  child.kill();
  setTimeout(() => child.kill("SIGKILL"), killMs).unref();
};

/**
 * Watches the start of the server that `running` returns, if it has begun. Call the returned function once the
 * server answers.
 */
export const watchStart = (
  running: () => RunningWrangler | null,
  print: (line: string) => void,
): (() => void) => {
  const slow = setTimeout(() => print("Still starting: wrangler has not answered yet …"), slowMs);
  const stuck = setTimeout(() => {
    const server = running();
    if (server !== null) giveUp(server, print);
  }, longestMs);
  return () => {
    clearTimeout(slow);
    clearTimeout(stuck);
  };
};
