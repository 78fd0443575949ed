/** Foreign text that a person decides about: nothing in it may be invisible or change where other text stands. */

const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const unseenInLines = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

const escapeUnits = (found: string): string =>
  Array.from(
    { length: found.length },
    (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");

/** Writes control, format and bidirectional characters as `\u202e`. */
export const escapeUnseen = (text: string): string => text.replace(unseen, escapeUnits);

/** Does the same for a text of several lines, whose breaks and tabs stay. */
export const escapeInLines = (text: string): string => text.replace(unseenInLines, escapeUnits);

/** Writes a value as JSON in lines; what is escaped in it means the same when it is read back. */
export const escapedJson = (value: unknown): string =>
  (JSON.stringify(value, null, 2) ?? "null").split("\n").map(escapeUnseen).join("\n");
