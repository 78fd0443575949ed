import { defineTransfer } from "./transfer.ts";

export const fsMove = defineTransfer("move", {
  done: "Moved",
  description: "Moves or renames a file, link or folder.",
});
