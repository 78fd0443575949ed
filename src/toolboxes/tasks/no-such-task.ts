import type { ToolOutput } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";

export const noSuchTask = (id: string): ToolOutput =>
  toolError("not_found", `there is no task ${id}; list the tasks to see them`);
