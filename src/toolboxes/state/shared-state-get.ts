import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";
import { stateKey } from "../../tools/stores.ts";

export const sharedStateGet = defineTool({
  name: "shared_state_get",
  description: "Reads a shared value, as JSON {value, revision}.",
  params: z.strictObject({ key: stateKey.describe("Name of the value.") }),
  safety: "read",
  workspace: "none",
  run: ({ key }, { stores }) => {
    const entry = stores.state.get(key);
    return entry === null
      ? toolError("not_found", `there is no value ${key}; shared_state_list shows the keys`)
      : { content: JSON.stringify(entry) };
  },
});
