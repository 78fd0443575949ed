import { defineTransfer } from "./transfer.ts";

export const fsCopy = defineTransfer("copy", {
  done: "Copied",
  description: "Copies a file, link or folder. Links that lead out of the workspace are omitted and named.",
});
