import { writeJson } from "./json.ts";

/** Foreign text by which a person decides or finds: nothing in it may be invisible or change where other text stands. */

/** Emoji are seen as a whole, also those that have such characters in them. */
const unseen = /\p{RGI_Emoji}|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gv;
const unseenInLines = /\p{RGI_Emoji}|(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gv;
const emoji = /^\p{RGI_Emoji}$/v;

const escapeUnits = (found: string): string => (emoji.test(found) ? found : escapeEach(found));

const escapeEach = (found: string): string =>
  Array.from(
    { length: found.length },
    (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");

/** Writes control, format and bidirectional characters as `\u202e`. */
export const escapeUnseen = (text: string): string => text.replace(unseen, escapeUnits);

/** Does the same for a text that is shown in one line: its breaks and tabs become spaces. */
export const escapeInLine = (text: string): string => escapeUnseen(text.replace(/[\r\n\t]+/g, " "));

/** Does the same for a text of several lines, whose breaks and tabs stay. */
export const escapeInLines = (text: string): string => text.replace(unseenInLines, escapeUnits);

/** Writes a value as JSON; what is escaped in it means the same when it is read back. */
export const escapeJson = (value: unknown): string =>
  writeJson(value).split("\n").map(escapeUnseen).join("\n");
