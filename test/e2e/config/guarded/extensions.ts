import * as z from "zod";
import { defineTool } from "../../../../src/tools/define-tool.ts";
import type { Toolbox } from "../../../../src/tools/define-tool.ts";

/** What the code of a team, or a package that it uses, can see of the Worker around it. */
const lookAround = defineTool({
  name: "look_around",
  description: "Tells what it sees.",
  params: z.strictObject({}),
  safety: "read",
  workspace: "none",
  run: async () => {
    const { env } = await import("cloudflare:workers");
    const bindings = Object.entries(env).filter(([, value]) => typeof value === "string");
    return { content: JSON.stringify({ process: process.env, bindings: Object.fromEntries(bindings) }) };
  },
});

export const toolboxes: readonly Toolbox[] = [
  { name: "tower", description: "The tower.", tools: [lookAround] },
];
