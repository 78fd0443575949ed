import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { revision, stateKey, stateValue } from "../../tools/stores.ts";

export const sharedStateSet = defineTool({
  name: "shared_state_set",
  description: "Sets a shared value: any JSON up to 256 KiB. Every agent of the session sees it.",
  params: z.strictObject({
    key: stateKey.describe("Name of the value."),
    value: stateValue.describe("The value."),
    if_revision: revision
      .optional()
      .describe("Set it only if it still has this revision; 0: only if it is absent."),
  }),
  safety: "idempotent",
  workspace: "none",
  volatile: ["revision"],
  run: (change) => ({ content: "", stores: [{ store: "state", op: "set", ...change }] }),
});
