import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { change, subjectPath } from "../sandbox-call.ts";

const fileLine = /^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$/gm;

export const applyPatch = defineTool({
  name: "apply_patch",
  description: [
    "Adds, updates, moves and deletes files by one patch: all of it or nothing. Format:",
    "*** Begin Patch",
    "*** Add File: path (then lines that begin with +)",
    "*** Update File: path (optionally *** Move to: path; then hunks: @@ and a line of context above, lines that begin with a space, - or +, optionally *** End of File)",
    "*** Delete File: path",
    "*** End Patch",
    "Each hunk must fit exactly one place.",
  ].join("\n"),
  params: z.strictObject({ patch: z.string().min(1).describe("The whole patch.") }),
  safety: "idempotent",
  workspace: "write",
  subject: ({ patch }) => [...patch.matchAll(fileLine)].map(([, path = ""]) => subjectPath(path.trim())),
  run: (args, context) => change(context, "apply_patch", args, ({ message }) => message ?? "Applied."),
});
