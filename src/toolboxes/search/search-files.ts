import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { callSandbox, describeLeftOut, onPaths } from "../sandbox-call.ts";

const mostPaths = 2000;

export const searchFiles = defineTool({
  name: "search_files",
  description:
    "Finds files by name, newest first. *.ts matches at any depth, src/**/*.ts below src; ignore files are honoured.",
  params: z.strictObject({
    pattern: z.string().min(1).max(1000).describe("Glob of names or paths."),
    directory: z.string().min(1).max(4096).default(".").describe("Folder to search."),
    max_results: z.int().min(1).max(mostPaths).default(100).describe("Most paths to return."),
  }),
  safety: "read",
  workspace: "read",
  cache: true,
  limit: 8_000,
  does: ["read"],
  acts: ({ directory }) => onPaths("read", directory),
  run: (query, context) =>
    callSandbox(context, async (sandbox) => {
      const most = query.max_results;
      const found = await sandbox.searchFiles({ ...query, max_results: Math.min(most + 1, mostPaths) });
      const more = found.length > most ? "\n[More files match; these are the newest.]" : "";
      return {
        content: JSON.stringify(found.slice(0, most)) + more + describeLeftOut(sandbox, query.directory),
      };
    }),
});
