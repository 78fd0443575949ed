import * as z from "zod";
import { defineTool } from "../../../../src/tools/define-tool.ts";
import type { Safety, Toolbox } from "../../../../src/tools/define-tool.ts";

/** A tool of one safety class that calls the test's server, where each call can be seen and held. */
const probe = (name: string, safety: Safety) =>
  defineTool({
    name,
    description: `Calls the test's server; ${safety}.`,
    params: z.strictObject({ url: z.string().describe("Address.") }),
    safety,
    workspace: "none",
    run: async ({ url }, { key, signal }) => {
      const response = await fetch(`${url}/${name}`, { method: "POST", body: key, signal });
      return { content: await response.text() };
    },
  });

export const toolboxes: readonly Toolbox[] = [
  {
    name: "probe",
    description: "Calls to the test's server.",
    tools: [probe("look", "read"), probe("put", "idempotent"), probe("fire", "unsafe")],
  },
];
