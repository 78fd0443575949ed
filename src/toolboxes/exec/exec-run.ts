import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { commandDeadline, runCommand } from "./command.ts";
import { commandParameters } from "./parameters.ts";

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
  run: ({ command, args, ok_codes, cwd, timeout, stdin, background }, context) =>
    runCommand({ argv: [command, ...args], cwd, timeout, stdin, background, okCodes: ok_codes }, context),
});
