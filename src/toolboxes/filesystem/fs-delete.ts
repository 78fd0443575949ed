import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { changeWorkspace, onPaths } from "../sandbox-call.ts";
import { pathParameter } from "./parameters.ts";

export const fsDelete = defineTool({
  name: "fs_delete",
  description: "Deletes a file, a link or a folder.",
  params: z.strictObject({
    path: pathParameter("What to delete"),
    recursive: z.boolean().default(false).describe("Delete a folder with everything in it."),
  }),
  safety: "idempotent",
  workspace: "write",
  does: ["delete"],
  acts: ({ path }) => onPaths("delete", path),
  subtree: ({ recursive }) => recursive,
  run: (args, context) => changeWorkspace(context, "delete", args, () => `Deleted ${args.path}.`),
});
