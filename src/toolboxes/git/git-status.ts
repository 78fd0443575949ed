import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { onPaths } from "../sandbox-call.ts";
import { askGit } from "./ask-git.ts";

export const gitStatus = defineTool({
  name: "git_status",
  description: "Shows changes in the git repository since its last commit, and which are staged.",
  params: z.strictObject({ short: z.boolean().default(false).describe("One line per file.") }),
  safety: "read",
  workspace: "read",
  does: ["read"],
  acts: () => onPaths("read", "."),
  run: ({ short }, context) => askGit(context, "status", { short }, "nothing to commit, working tree clean"),
});
