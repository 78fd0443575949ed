import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";

export const reportStatus = defineTool({
  name: "report_status",
  description: "Tells those who watch what you are doing, in one sentence. It changes nothing else.",
  params: z.strictObject({ status: z.string().max(500).describe("What you are doing now.") }),
  safety: "read",
  workspace: "none",
  progress: false,
  run: ({ status }) =>
    status.trim() === ""
      ? toolError("invalid_arguments", "status is blank; say what you are doing")
      : { content: "Reported.", statusText: status },
});
