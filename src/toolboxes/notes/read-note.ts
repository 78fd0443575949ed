import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";
import { noteName } from "../../tools/stores.ts";
import { findNearestName } from "../../tools/suggest.ts";

export const readNote = defineTool({
  name: "read_note",
  description: "Reads a note.",
  params: z.strictObject({ name: noteName.describe("Name of the note, as list_notes shows it.") }),
  safety: "read",
  workspace: "none",
  limit: 65_536,
  run: async ({ name }, { stores }) => {
    const content = await stores.notes.read(name);
    if (content !== null) return { content };
    const near = findNearestName(
      name,
      (await stores.notes.list()).map((note) => note.name),
    );
    const hint = near === null ? "list_notes shows the names" : `did you mean "${near}"?`;
    return toolError("not_found", `there is no note "${name}"; ${hint}`);
  },
});
