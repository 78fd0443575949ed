import * as z from "zod";
import { defineTool, type Tool } from "../../tools/define-tool.ts";
import { changeWorkspace, onPaths } from "../sandbox-call.ts";
import { pathParameter } from "./parameters.ts";

/** Defines `fs_move` and `fs_copy`: what they read, remove and replace, and the report of omitted links. */
export const defineTransfer = (
  op: "move" | "copy",
  words: { readonly done: string; readonly description: string },
): Tool =>
  defineTool({
    name: `fs_${op}`,
    description: words.description,
    params: z.strictObject({
      source: pathParameter(`What to ${op}`),
      destination: pathParameter("The new path"),
      overwrite: z.boolean().default(false).describe("Replace an existing destination."),
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
        [`${words.done} ${args.source} to ${args.destination}.`, message ?? ""].join("\n").trim(),
      ),
  });
