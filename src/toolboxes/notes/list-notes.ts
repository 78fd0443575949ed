import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";

export const listNotes = defineTool({
  name: "list_notes",
  description: "Lists all notes by name with their first lines, as a JSON array of {name, first_line}.",
  params: z.strictObject({}),
  safety: "read",
  workspace: "none",
  run: async (_, { stores }) => ({ content: JSON.stringify(await stores.notes.list()) }),
});
