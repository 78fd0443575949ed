import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { childParameter } from "./parameters.ts";

export const checkChildren = defineTool({
  name: "check_children",
  description:
    "Reports the progress of your children, as a JSON array: state, turns, last text, open question.",
  params: z.strictObject({
    child: childParameter.optional().describe("Only this child, by its id, also if it has ended."),
  }),
  safety: "read",
  workspace: "none",
  poll: true,
  request: ({ child }) => ({ do: "check_children", child: child ?? null }),
});
