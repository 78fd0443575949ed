import * as z from "zod";
import { defineTool, type Tool } from "../../tools/define-tool.ts";
import { changeWorkspace, onPaths } from "../sandbox-call.ts";
import { pathParameter } from "./parameters.ts";

/** Defines `fs_move` and `fs_copy`: what they read, remove and replace, and the report of what was left out. */
export const defineTransfer = (
  op: "move" | "copy",
  told: { readonly done: string; readonly description: string },
): Tool =>
  defineTool({
    name: `fs_${op}`,
    description: told.description,
    params: z.strictObject({
      source: pathParameter(`What to ${op}`),
      destination: pathParameter("The new path"),
      overwrite: z.boolean().default(false).describe("Replace what is at the destination already."),
    }),
    safety: "idempotent",
    workspace: "write",
    does: ["write", "read", "delete"],
    acts: ({ source, destination, overwrite }) => [
      ...onPaths("read", source),
      ...(op === "move" ? onPaths("delete", source) : []),
      ...onPaths("write", destination),
      ...(overwrite ? onPaths("delete", destination) : []),
    ],
    subtree: true,
    run: (args, context) =>
      changeWorkspace(context, op, args, ({ message }) =>
        [`${told.done} ${args.source} to ${args.destination}.`, message ?? ""].join("\n").trim(),
      ),
  });
