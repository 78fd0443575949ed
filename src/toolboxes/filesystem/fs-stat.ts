import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { callSandbox, onPaths } from "../sandbox-call.ts";
import { pathParameter } from "./parameters.ts";

export const fsStat = defineTool({
  name: "fs_stat",
  description: "Returns size, mode, time of change and, for a file, the SHA-256 of its content.",
  params: z.strictObject({ path: pathParameter("File or folder") }),
  safety: "read",
  workspace: "read",
  cache: true,
  does: ["read"],
  acts: ({ path }) => onPaths("read", path),
  run: ({ path }, context) =>
    callSandbox(context, async (sandbox) => {
      const stat = await sandbox.stat(path);
      const facts = {
        name: stat.name,
        size: stat.size,
        mode: stat.mode.toString(8).padStart(4, "0"),
        mod_time: new Date(stat.modTime).toISOString(),
        is_dir: stat.type === "directory",
        ...(stat.sha256 === undefined ? {} : { sha256: stat.sha256 }),
      };
      return { content: JSON.stringify(facts) };
    }),
});
