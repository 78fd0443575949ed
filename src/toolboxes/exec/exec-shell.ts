import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { commandDeadline, runCommand } from "./command.ts";
import { commandParameters } from "./parameters.ts";

export const execShell = defineTool({
  name: "exec_shell",
  description:
    "Runs a script with sh -c and returns its output and exit code. A command with & may run to its end before the next one: to run something alongside, set background.",
  params: z.strictObject({
    script: z.string().min(1).describe("The script."),
    ...commandParameters,
  }),
  safety: "reattach",
  workspace: "write",
  volatile: ["exec_id"],
  limit: 30_000,
  timeout: commandDeadline,
  does: ["exec"],
  acts: () => [{ act: "exec", subject: "*" }],
  run: ({ script, cwd, timeout, background }, context) => {
    const argv = ["sh", "-c", script];
    return runCommand({ argv, cwd, timeout, stdin: undefined, background, okCodes: [0] }, context);
  },
});
