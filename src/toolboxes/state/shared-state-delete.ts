import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { stateKey } from "../../tools/stores.ts";

export const sharedStateDelete = defineTool({
  name: "shared_state_delete",
  description: "Removes a shared value; reports whether it existed.",
  params: z.strictObject({ key: stateKey.describe("Name of the value.") }),
  safety: "idempotent",
  workspace: "none",
  run: ({ key }) => ({ content: "", stores: [{ store: "state", op: "delete", key }] }),
});
