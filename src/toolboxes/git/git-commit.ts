import * as z from "zod";
import { SandboxError } from "../../sandbox/contract.ts";
import { defineTool } from "../../tools/define-tool.ts";
import type { ToolOutput } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";
import { callSandbox } from "../sandbox-call.ts";
import { pathParameter } from "./parameters.ts";

const unknownOutcome: ToolOutput = {
  ...toolError(
    "unknown",
    "the sandbox gave no answer. The commit may have been made: look at git_log and git_status before repeating it.",
  ),
  status: "unknown",
};

export const gitCommit = defineTool({
  name: "git_commit",
  description:
    "Commits files of the git repository as they are now, or all changes, and returns the commit's hash.",
  params: z
    .strictObject({
      message: z
        .string()
        .max(100_000)
        .regex(/^(?!-)[^\0]*\S/, "write a message that does not begin with -")
        .describe("What the commit changes, and why."),
      files: z
        .array(pathParameter)
        .min(1)
        .max(1000)
        .exactOptional()
        .describe("Files and folders to commit, from the repository's folder; not with all."),
      all: z.boolean().exactOptional().describe("Commit all changes, new and deleted files included."),
    })
    .refine(({ files, all }) => (files === undefined) === (all === true), {
      path: ["files"],
      error: "name files, or set all: one of them",
    }),
  safety: "unsafe",
  workspace: "write",
  does: ["exec"],
  acts: ({ message, files }) => {
    const argv = ["git", "commit", "-m", message, ...(files === undefined ? ["--all"] : ["--", ...files])];
    return [{ act: "exec", subject: argv.join(" "), argv }];
  },
  run: (args, context) =>
    callSandbox(context, async (sandbox) => {
      const { signal, writablePaths, repository: directory } = context;
      try {
        return { content: await sandbox.git("commit", { ...args, directory }, { signal, writablePaths }) };
      } catch (error) {
        if (error instanceof SandboxError && error.code === "exec_transport_error") return unknownOutcome;
        throw error;
      }
    }),
});
