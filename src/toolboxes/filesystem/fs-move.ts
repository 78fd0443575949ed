import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { change, subjectPath } from "../sandbox-call.ts";
import { overwriteParameter, pathParameter } from "./parameters.ts";

export const fsMove = defineTool({
  name: "fs_move",
  description: "Moves or renames a file, link or folder.",
  params: z.strictObject({
    source: pathParameter("What to move"),
    destination: pathParameter("The new path"),
    overwrite: overwriteParameter,
  }),
  safety: "idempotent",
  workspace: "write",
  subject: ({ source, destination }) => [subjectPath(source), subjectPath(destination)],
  run: (args, context) =>
    change(context, "move", args, ({ message }) =>
      [`Moved ${args.source} to ${args.destination}.`, message ?? ""].join("\n").trim(),
    ),
});
