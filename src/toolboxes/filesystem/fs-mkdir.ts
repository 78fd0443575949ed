import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { changeWorkspace, onPaths } from "../sandbox-call.ts";
import { pathParameter } from "./parameters.ts";

export const fsMkdir = defineTool({
  name: "fs_mkdir",
  description: "Makes a folder with its parents; one that exists already is fine.",
  params: z.strictObject({ path: pathParameter("Folder to make") }),
  safety: "idempotent",
  workspace: "write",
  does: ["write"],
  acts: ({ path }) => onPaths("write", path),
  run: (args, context) => changeWorkspace(context, "mkdir", args, () => `Made the folder ${args.path}.`),
});
