import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { noteContent, noteName } from "../../tools/stores.ts";

export const writeNote = defineTool({
  name: "write_note",
  description: "Writes a note of up to 64 KiB; replaces the one of the same name, if there is one.",
  params: z.strictObject({
    name: noteName.describe("Name of the note: letters, digits, _ and -."),
    content: noteContent.describe("The whole note. list_notes shows its first line."),
  }),
  safety: "idempotent",
  workspace: "none",
  run: (note) => ({ content: "", stores: [{ store: "notes", op: "write", ...note }] }),
});
