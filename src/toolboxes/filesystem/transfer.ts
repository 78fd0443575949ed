import * as z from "zod";
import { defineTool, type Tool } from "../../tools/define-tool.ts";
import { changeWorkspace, onPaths } from "../sandbox-call.ts";
import { pathParameter } from "./parameters.ts";

/** What `fs_move` and `fs_copy` have in common: what is read, taken away and replaced, and what was left out is named. */
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
