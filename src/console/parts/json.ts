import type { Json } from "../../chat/message.ts";

/** Reads of values whose shape nobody has promised. */

export type Fields = Readonly<Record<string, Json>>;

/** Returns the value's fields; a value without fields has none. */
export const fieldsOf = (value: Json | undefined): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};

export const textOf = (value: Json | undefined): string | null => (typeof value === "string" ? value : null);

export const numberOf = (value: Json | undefined): number | null =>
  typeof value === "number" ? value : null;

export const listOf = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? (value as readonly Json[]) : [];

/** Writes a value in lines; one that nests too deep for that, in one line. */
export const writeJson = (value: unknown): string => {
  try {
    return JSON.stringify(value, null, 2) ?? "null";
  } catch {
    return JSON.stringify(value);
  }
};

/** Returns the text of an output: itself, its text parts, or its JSON. */
export const outputText = (output: Json): string => {
  if (output === null) return "";
  if (typeof output === "string") return output;
  const parts = listOf(output).map(fieldsOf);
  if (parts.length > 0 && parts.every(({ type }) => typeof type === "string"))
    return parts
      .map((part) => textOf(part["text"]) ?? `[${textOf(part["type"])} ${textOf(part["media_type"]) ?? ""}]`)
      .join("\n");
  return writeJson(output);
};

/** Parses a text as JSON; null if it is none. */
export const parseJson = (text: string): Json => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
};
