import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { describeLeftOut, onPaths, callSandbox } from "../sandbox-call.ts";
import { pathParameter } from "./parameters.ts";

const maxEntries = 2000;

export const fsList = defineTool({
  name: "fs_list",
  description: "Lists the entries of a folder, sorted by name, with type and size.",
  params: z.strictObject({ path: pathParameter("Folder to list").default(".").describe("Folder to list.") }),
  safety: "read",
  workspace: "read",
  cache: true,
  does: ["read"],
  acts: ({ path }) => onPaths("read", path),
  run: ({ path }, context) =>
    callSandbox(context, async (sandbox) => {
      const entries = await sandbox.list(path, { limit: maxEntries + 1 });
      const shown = entries.slice(0, maxEntries).map(({ name, type, size }) => ({ name, type, size }));
      const rest = entries.length > maxEntries ? `\n[These are the first ${maxEntries} entries.]` : "";
      return { content: JSON.stringify(shown) + rest + describeLeftOut(sandbox, path) };
    }),
});
