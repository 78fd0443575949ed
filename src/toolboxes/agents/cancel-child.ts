import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { childParameter } from "./parameters.ts";

export const cancelChild = defineTool({
  name: "cancel_child",
  description: "Stops a child and everything it started. Stopping one that has ended changes nothing.",
  params: z.strictObject({
    child: childParameter,
    reason: z.string().max(1_000).optional().describe("Why it is no longer needed."),
  }),
  safety: "idempotent",
  workspace: "none",
  request: ({ child, reason }) => ({ do: "cancel_child", child, reason: reason ?? null }),
});
