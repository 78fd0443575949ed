import type { Json } from "../../chat/message.ts";
import { commandOf } from "../calls/tool-verbs.ts";
import { escapeUnseen, escapeJson } from "../parts/escape.ts";
import type { Fields } from "../parts/json.ts";
import { fieldsOf, textOf } from "../parts/json.ts";

/** What an approval is about, and which text of it a person may edit. */

type Shown =
  | { readonly kind: "command"; readonly command: string }
  /** A file changes; `before` is null where the whole of it is replaced. */
  | { readonly kind: "file"; readonly path: string; readonly before: string | null; readonly after: string }
  | { readonly kind: "patch"; readonly patch: string }
  | { readonly kind: "plan"; readonly plan: string }
  | { readonly kind: "values" };

/** What is approved, and every field of its input that this does not show. */
export type Subject = Shown & { readonly values: readonly (readonly [string, Json])[] };

/** Names a file by its path in the workspace, which an input gives from a folder of it. */
const pathFrom = (folder: string, path: string): string => {
  const kept: string[] = [];
  const whole = path.startsWith("/") ? path.replace(/^\/workspace(?=\/)/, "") : `${folder}/${path}`;
  for (const segment of whole.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") kept.push(segment);
    else if (kept.pop() === undefined) return path;
  }
  return kept.join("/");
};

const fileSubject = (tool: string, input: Fields, folder: string): Shown | null => {
  const given = textOf(input["path"]);
  if (given === null) return null;
  const path = pathFrom(folder, given);
  if (tool === "fs_write") return { kind: "file", path, before: null, after: textOf(input["content"]) ?? "" };
  if (tool !== "fs_edit") return null;
  return {
    kind: "file",
    path,
    before: textOf(input["old_text"]) ?? "",
    after: textOf(input["new_text"]) ?? "",
  };
};

const commandTools: ReadonlySet<string> = new Set(["exec_run", "exec_shell"]);

const shownPart = (tool: string, input: Fields): Fields =>
  Object.fromEntries(Object.entries(input).filter(([name]) => shownFields[tool]?.includes(name)));

const shownOf = (tool: string, input: Fields, folder: string): Shown => {
  const command = commandTools.has(tool) ? commandOf(shownPart(tool, input)) : null;
  if (command !== null) return { kind: "command", command };
  const plan = tool === "plan" ? textOf(input["plan"]) : null;
  if (plan !== null) return { kind: "plan", plan };
  const patch = tool === "apply_patch" ? textOf(input["patch"]) : null;
  if (patch !== null) return { kind: "patch", patch };
  return fileSubject(tool, input, folder) ?? { kind: "values" };
};

/** What is shown of these tools holds these fields of their inputs, whole. */
const shownFields: Readonly<Record<string, readonly string[]>> = {
  exec_run: ["command", "args"],
  exec_shell: ["script"],
  plan: ["plan"],
  apply_patch: ["patch"],
  fs_write: ["path", "content"],
  fs_edit: ["path", "old_text", "new_text"],
};

/** Finds what a person should see first; nothing of the input is left out. Its paths are relative to a folder. */
export const subjectOf = (tool: string, given: Json, folder = ""): Subject => {
  const input = fieldsOf(given);
  const shown = shownOf(tool, input, folder);
  const held = shown.kind === "values" ? [] : (shownFields[tool] ?? []);
  return { ...shown, values: Object.entries(input).filter(([name]) => !held.includes(name)) };
};

/** A text that stands for the input while it is edited, and how an input is made of it again. */
export interface EditedInput {
  readonly label: string;
  readonly text: string;
  /** Returns the input; null if the text cannot be one. */
  readonly read: (text: string) => { readonly input: Json } | null;
}

/** The field of an input that people edit as it stands; everything else is edited as JSON. */
const editedFields: Readonly<Record<string, string>> = {
  fs_edit: "new_text",
  fs_write: "content",
  exec_shell: "script",
  plan: "plan",
};

const jsonDraft = (input: Json): EditedInput => ({
  label: "Input as JSON",
  text: escapeJson(input),
  read: (text) => {
    try {
      return { input: JSON.parse(text) as Json };
    } catch {
      return null;
    }
  },
});

/** A text with characters that nobody sees is edited as JSON, where they are written out. */
const isPlain = (text: string): boolean =>
  text.split("\n").every((line) => escapeUnseen(line.replaceAll("\t", "")) === line.replaceAll("\t", ""));

/** Returns the text to edit an approval by. */
export const draftOf = (tool: string, input: Json): EditedInput => {
  const name = editedFields[tool];
  const text = name === undefined ? null : textOf(fieldsOf(input)[name]);
  if (name === undefined || text === null || !isPlain(text)) return jsonDraft(input);
  return {
    label: "Your version",
    text,
    read: (edited) => ({ input: { ...fieldsOf(input), [name]: edited } }),
  };
};

/** Rows that a text takes up: what is approved should be in sight. */
export const rowsOf = (text: string): number =>
  Math.min(
    16,
    Math.max(
      2,
      text.split("\n").reduce((rows, line) => rows + Math.ceil((line.length + 1) / 76), 0),
    ),
  );
