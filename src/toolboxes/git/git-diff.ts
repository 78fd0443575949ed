import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { onPaths } from "../sandbox-call.ts";
import { askGit } from "./ask-git.ts";
import { pathParameter } from "./parameters.ts";

export const gitDiff = defineTool({
  name: "git_diff",
  description: "Shows changes in the git repository as a diff: unstaged or staged ones.",
  params: z.strictObject({
    staged: z.boolean().default(false).describe("Show staged changes, compared with the last commit."),
    path: pathParameter.exactOptional().describe("Only this file or folder, from the repository's folder."),
  }),
  safety: "read",
  workspace: "read",
  does: ["read"],
  acts: () => onPaths("read", "."),
  run: (args, context) => askGit(context, "diff", args, "no changes"),
});
