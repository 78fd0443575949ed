import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";

export const sharedStateList = defineTool({
  name: "shared_state_list",
  description: "Lists the keys of all shared values, sorted, as a JSON array.",
  params: z.strictObject({}),
  safety: "read",
  workspace: "none",
  run: (_, { stores }) => ({ content: JSON.stringify(stores.state.keys()) }),
});
