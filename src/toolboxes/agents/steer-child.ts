import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { childParameter, textParameter } from "./parameters.ts";

export const steerChild = defineTool({
  name: "steer_child",
  description: "Sends a message to a running child, which reads it before its next step and keeps its work.",
  params: z.strictObject({
    child: childParameter,
    message: textParameter("message", "What the child should know or do."),
  }),
  safety: "idempotent",
  workspace: "none",
  request: ({ child, message }) => ({ do: "steer_child", child, message }),
});
