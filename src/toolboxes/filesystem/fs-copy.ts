import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { change, subjectPath } from "../sandbox-call.ts";
import { overwriteParameter, pathParameter } from "./parameters.ts";

export const fsCopy = defineTool({
  name: "fs_copy",
  description: "Copies a file, link or folder. Links that lead out of the workspace are left out and named.",
  params: z.strictObject({
    source: pathParameter("What to copy"),
    destination: pathParameter("The new path"),
    overwrite: overwriteParameter,
  }),
  safety: "idempotent",
  workspace: "write",
  subject: ({ source, destination }) => [subjectPath(source), subjectPath(destination)],
  run: (args, context) =>
    change(context, "copy", args, ({ message }) =>
      [`Copied ${args.source} to ${args.destination}.`, message ?? ""].join("\n").trim(),
    ),
});
