import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { changeWorkspace, onPaths } from "../sandbox-call.ts";
import { pathParameter } from "./parameters.ts";

export const fsMkdir = defineTool({
  name: "fs_mkdir",
  description: "Creates a folder with its parents; an existing folder is not an error.",
  params: z.strictObject({ path: pathParameter("Folder to create") }),
  safety: "idempotent",
  workspace: "write",
  does: ["write"],
  acts: ({ path }) => onPaths("write", path),
  run: (args, context) => changeWorkspace(context, "mkdir", args, () => `Created the folder ${args.path}.`),
});
