import type { ExitCode, Terminal } from "./usage.ts";

/** Runs the command line of this process on the project at `root`, and sets its exit code. */
export const runProcess = async (
  run: (given: readonly string[], terminal: Terminal) => Promise<ExitCode>,
  root: string,
): Promise<void> => {
  // A reader that closes early ("limpet explain … | head") is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  process.exitCode = await run(process.argv.slice(2), {
    root,
    print: (line) => process.stdout.write(`${line}\n`),
    serving: process.env["WRANGLER_COMMAND"] === "dev",
  });
};
