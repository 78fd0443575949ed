import type { GitArguments, GitOperation } from "../../sandbox/contract.ts";
import type { ToolContext, ToolOutput } from "../../tools/define-tool.ts";
import { callSandbox, describeLeftOut } from "../sandbox-call.ts";

/** Asks git about the agent's repository; replaces an empty answer by a sentence. */
export const askGit = <O extends GitOperation>(
  context: ToolContext,
  op: O,
  args: Omit<GitArguments[O], "directory">,
  nothing: string,
): Promise<ToolOutput> =>
  callSandbox(context, async (sandbox) => {
    const { signal, repository: directory } = context;
    const asked = { ...args, directory } as unknown as GitArguments[O];
    const output = await sandbox.git(op, asked, { signal });
    return { content: (output === "" ? nothing : output) + describeLeftOut(sandbox, ".") };
  });
