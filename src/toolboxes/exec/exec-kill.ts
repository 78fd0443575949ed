import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import type { ExecEvent } from "../../sandbox/contract.ts";
import { callSandbox } from "../sandbox-call.ts";
import { execIdParameter } from "./parameters.ts";
import { stateOf } from "./snapshot.ts";

/** Milliseconds within which a killed command must have ended. */
const killTime = 10_000;

export const execKill = defineTool({
  name: "exec_kill",
  description: "Ends a background command with all its children and reports how it ended.",
  params: z.strictObject({ exec_id: execIdParameter }),
  safety: "idempotent",
  workspace: "none",
  subject: ({ exec_id }) => [exec_id],
  run: ({ exec_id }, context) =>
    callSandbox(context, async (sandbox) => {
      await sandbox.kill(exec_id);
      const events: ExecEvent[] = [];
      const until = Date.now() + killTime;
      for await (const event of sandbox.attach(exec_id, 0, until, context.signal)) {
        if (event.type === "exit") events.push(event);
      }
      const { state, exit_code } = stateOf(events);
      const over = state === "running" ? {} : { ended: exec_id };
      return { content: JSON.stringify({ state, exit_code }), ...over };
    }),
});
