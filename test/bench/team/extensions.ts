import * as z from "zod";
import { defineTool } from "../../../src/tools/define-tool.ts";
import type { Toolbox } from "../../../src/tools/define-tool.ts";

const echo = defineTool({
  name: "echo",
  description: "Gives back 256 bytes.",
  params: z.strictObject({ i: z.int().describe("A number.") }),
  safety: "read",
  workspace: "none",
  run: ({ i }) => ({ content: `${i}:`.padEnd(256, "x") }),
});

/** What the bench's agent can do. */
export const toolboxes: readonly Toolbox[] = [
  { name: "bench", description: "A tool that costs nothing.", tools: [echo] },
];
