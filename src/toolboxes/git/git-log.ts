import * as z from "zod";
import { logFormats } from "../../sandbox/contract.ts";
import { defineTool } from "../../tools/define-tool.ts";
import { onPaths } from "../sandbox-call.ts";
import { askGit } from "./ask-git.ts";

export const gitLog = defineTool({
  name: "git_log",
  description: "Lists the newest commits of the git repository.",
  params: z.strictObject({
    count: z.int().min(1).max(200).default(10).describe("Most commits to list."),
    format: z.enum(logFormats).default("oneline").describe("Format of each commit, as git names it."),
  }),
  safety: "read",
  workspace: "read",
  does: ["read"],
  acts: () => onPaths("read", "."),
  run: (args, context) => askGit(context, "log", args, "no commits"),
});
