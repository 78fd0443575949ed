import { Console } from "node:console";
import type { ExitCode, Terminal } from "./usage.ts";

/** Runs the command line of this process on the project at `root`, and ends the process with its exit code. */
export const runProcess = async (
  run: (given: readonly string[], terminal: Terminal) => Promise<ExitCode>,
  root: string,
): Promise<void> => {
  // Nobody reads on: what `head` has seen enough of is over, and no error.
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      process.exit(0);
    });
  // What extensions say while they are loaded is no output of the command, which may be lines of JSON.
  globalThis.console = new Console(process.stderr);
  const code = await run(process.argv.slice(2), {
    root,
    print: (line) => process.stdout.write(`${line}\n`),
    serving: process.env["WRANGLER_COMMAND"] === "dev",
  });
  // A connection whose other end is gone would keep the process; what was written is waited for.
  process.stdout.write("", () => process.stderr.write("", () => process.exit(code)));
};
