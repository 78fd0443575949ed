import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";

export const memorySearch = defineTool({
  name: "memory_search",
  description:
    "Searches what is remembered from earlier conversations. Returns a JSON array of {at, agent, text, tags, score}, the best first.",
  params: z.strictObject({
    query: z.string().min(1).max(2_000).describe("What to look for, in a few words."),
    limit: z.int().min(1).max(50).default(10).describe("Most entries to return."),
    threshold: z.number().min(0).max(1).default(0.5).describe("Least score of an entry, 0 to 1."),
  }),
  safety: "read",
  workspace: "none",
  run: async ({ query, ...options }, { stores }) => {
    const found = await stores.memory.search(query, options).catch(() => undefined);
    if (found === undefined) return toolError("unavailable", "memory cannot be read now; try again later");
    if (found === null) return toolError("unavailable", "this agent has no memory");
    const shown = found.map(({ at, ...hit }) => ({ at: new Date(at).toISOString(), ...hit }));
    return { content: JSON.stringify(shown) };
  },
});
