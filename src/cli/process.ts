import type { ExitCode, Terminal } from "./usage.ts";

/** Runs the command line of this process on the project at `root`, and ends the process with its exit code. */
export const runProcess = async (
  run: (given: readonly string[], terminal: Terminal) => Promise<ExitCode>,
  root: string,
): Promise<void> => {
  const code = await run(process.argv.slice(2), {
    root,
    print: (line) => process.stdout.write(`${line}\n`),
    serving: process.env["WRANGLER_COMMAND"] === "dev",
  });
  // A connection whose other end is gone would keep the process; what was written is waited for.
  process.stdout.write("", () => process.stderr.write("", () => process.exit(code)));
};
