import type { Toolbox } from "../../tools/define-tool.ts";
import { listNotes } from "./list-notes.ts";
import { readNote } from "./read-note.ts";
import { writeNote } from "./write-note.ts";

export const notesToolbox: Toolbox = {
  name: "notes",
  description: "Notes that outlast what is in the context.",
  tools: [writeNote, readNote, listNotes],
};
