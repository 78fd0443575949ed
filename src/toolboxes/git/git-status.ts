import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { onPaths } from "../sandbox-call.ts";
import { askGit } from "./ask-git.ts";

export const gitStatus = defineTool({
  name: "git_status",
  description: "Says what has changed in the git repository since its last commit, and what is staged.",
  params: z.strictObject({ short: z.boolean().default(false).describe("One line a file.") }),
  safety: "read",
  workspace: "read",
  does: ["read"],
  acts: () => onPaths("read", "."),
  run: ({ short }, context) => askGit(context, "status", { short }, "nothing to commit, working tree clean"),
});
