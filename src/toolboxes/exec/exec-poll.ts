import * as z from "zod";
import {
  defineTool,
  parkCallOn,
  type Parked,
  type ToolContext,
  type ToolOutput,
} from "../../tools/define-tool.ts";
import { callSandbox } from "../sandbox-call.ts";
import { execIdParameter } from "./parameters.ts";
import { pollInterval, stateOf } from "./snapshot.ts";

/** Returns when this call stops waiting, counted from its first start and including all the time it was parked. */
function waitEnd(wait: number, context: ToolContext): number {
  const noted = context.memo.get();
  if (typeof noted === "number") return noted;
  const end = context.now() + Math.ceil(wait * 1000);
  context.memo.set(end);
  return end;
}

export const execPoll = defineTool({
  name: "exec_poll",
  description: "Reports whether a background command still runs and its output since the last poll.",
  params: z.strictObject({
    exec_id: execIdParameter,
    wait: z.number().min(0).max(600).default(0).describe("Seconds to wait for output or the end."),
  }),
  safety: "read",
  workspace: "none",
  poll: true,
  limit: 30_000,
  subject: ({ exec_id }) => [exec_id],
  run: async ({ exec_id, wait }, context): Promise<ToolOutput | Parked> => {
    let until: number | null = null;
    const output = await callSandbox(context, async (sandbox) => {
      const state = stateOf(await sandbox.poll(exec_id, context.key));
      const quiet = state.state === "running" && state.stdout === "" && state.stderr === "";
      if (quiet && wait > 0 && context.now() < waitEnd(wait, context)) {
        until = Math.min(context.now() + pollInterval, waitEnd(wait, context));
      }
      const over = state.state === "running" ? {} : { ended: exec_id };
      return { content: JSON.stringify(state), ...over };
    });
    return until === null ? output : parkCallOn({ on: "exec", until });
  },
});
