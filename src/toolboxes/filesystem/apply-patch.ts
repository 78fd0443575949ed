import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import type { CallAct } from "../../tools/acts.ts";
import { changeWorkspace, onPaths } from "../sandbox-call.ts";

/** Matches a line that names a file. Only `\n` ends a line of a patch; any other character belongs to the path. */
const fileLine = /^\*\*\* (Add File|Update File|Delete File|Move to): (.+)$/s;

/** Returns the acts of a patch on each file that it names; a moved file is the one named before its new path. */
const patchActs = (patch: string): CallAct[] => {
  let last = "";
  return patch.split("\n").flatMap((line) => {
    const [, what, name = ""] = fileLine.exec(line) ?? [];
    if (what === undefined) return [];
    const path = name.trim();
    const before = last;
    last = path;
    if (what === "Delete File") return onPaths("delete", path);
    if (what === "Update File") return [...onPaths("write", path), ...onPaths("read", path)];
    return [...onPaths("write", path), ...(what === "Move to" ? onPaths("delete", before) : [])];
  });
};

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
  does: ["write", "read", "delete"],
  acts: ({ patch }) => patchActs(patch),
  run: (args, context) =>
    changeWorkspace(context, "apply_patch", args, ({ message }) => message ?? "Applied."),
});
