import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { change, subjectPath } from "../sandbox-call.ts";

/** A line that names a file. Only `\n` ends a line of a patch, so any other character belongs to the path. */
const fileLine = /^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$/s;

const pathsOf = (patch: string): string[] =>
  patch.split("\n").flatMap((line) => {
    const path = fileLine.exec(line)?.[1]?.trim();
    return path === undefined ? [] : [subjectPath(path)];
  });

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
  subject: ({ patch }) => pathsOf(patch),
  run: (args, context) => change(context, "apply_patch", args, ({ message }) => message ?? "Applied."),
});
