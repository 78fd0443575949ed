import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { callSandbox, describeLeftOut, onPaths } from "../sandbox-call.ts";

export const searchContent = defineTool({
  name: "search_content",
  description:
    "Finds lines that match a pattern in the text files of a folder. Ignore files are honoured; .git and node_modules are skipped.",
  params: z.strictObject({
    pattern: z.string().min(1).max(1000).describe("RE2 regular expression, or plain text with literal."),
    directory: z.string().min(1).max(4096).default(".").describe("Folder or file to search."),
    max_results: z.int().min(1).max(1000).default(100).describe("Most matches to return."),
    context_lines: z.int().min(0).max(20).default(0).describe("Lines to show around each match."),
    literal: z.boolean().default(false).describe("Take the pattern as plain text."),
    ignore_case: z.boolean().default(false).describe("Ignore upper and lower case."),
    glob: z
      .string()
      .min(1)
      .max(1000)
      .exactOptional()
      .describe("Only files that match, like *.ts or src/**/*.ts."),
  }),
  safety: "read",
  workspace: "read",
  cache: true,
  limit: 20_000,
  does: ["read"],
  acts: ({ directory }) => onPaths("read", directory),
  run: (query, context) =>
    callSandbox(context, async (sandbox) => ({
      content: JSON.stringify(await sandbox.searchContent(query)) + describeLeftOut(sandbox, query.directory),
    })),
});
