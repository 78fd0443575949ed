import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import type { ToolOutput } from "../../tools/define-tool.ts";
import { commandDeadline, runCommand } from "./command.ts";
import { commandParameters } from "./parameters.ts";

/** Exit code of a program that there is not. */
const notFound = 127;

const advice =
  "\n[command is the program alone, and args are its arguments, one by one; exec_shell runs a line of a shell.]";

/** Adds the way out where a whole line was given for a program. */
const adviseOn = (command: string, output: ToolOutput): ToolOutput =>
  output.exitCode === notFound && /\s/.test(command) && typeof output.content === "string"
    ? { ...output, content: output.content + advice }
    : output;

export const execRun = defineTool({
  name: "exec_run",
  description: "Runs a program with its arguments, without a shell, and returns its output and exit code.",
  params: z.strictObject({
    command: z.string().min(1).max(4096).describe("The program."),
    args: z
      .array(z.string())
      .max(1000)
      .default([])
      .describe("Its arguments, one by one; nothing is expanded."),
    ...commandParameters,
    stdin: z.string().optional().describe("Text for its standard input."),
    ok_codes: z.array(z.int()).max(50).default([0]).describe("Exit codes that are not errors."),
  }),
  safety: "reattach",
  workspace: "write",
  volatile: ["exec_id"],
  limit: 30_000,
  timeout: commandDeadline,
  does: ["exec"],
  acts: ({ command, args, stdin, cwd }) => {
    const argv = [command, ...args];
    return [{ act: "exec", subject: argv.join(" "), argv, stdin, cwd }];
  },
  run: async ({ command, args, ok_codes, cwd, timeout, stdin, background }, context) => {
    const argv = [command, ...args];
    const call = { argv, cwd, timeout, stdin, background, okCodes: ok_codes };
    return adviseOn(command, await runCommand(call, context));
  },
});
