import type { Json } from "./message.ts";

/** Reads an entry by a name that others choose; inherited names, like `constructor`, are no entries. */
export const ownEntry = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

/** A JSON object: neither null nor a list. */
export type JsonObject = { readonly [key: string]: Json };

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields of a value; anything but an object has none. */
export const fieldsOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** Whether a JSON text nests deeper than so many levels; each level takes two characters. */
export const isDeeper = (text: string, levels: number): boolean =>
  text.length > 2 * levels && depthOf(text) > levels;

/** Whether a value nests at most so many levels. */
export const isShallow = (value: Json, levels = deepestInput): boolean =>
  typeof value !== "object" ||
  value === null ||
  (levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1)));

/** Parses a JSON text; undefined if it is invalid or nests deeper than `levels`, which protects recursive readers. */
export const parseJson = (text: string, levels = deepestInput): Json | undefined => {
  if (isDeeper(text, levels)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
};

const quote = 0x22;
const backslash = 0x5c;

/** Finds the deepest nesting of a JSON text without parsing it into values. */
export const depthOf = (text: string): number => {
  let depth = 0;
  let deepest = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) quoted = !quoted;
    else if (quoted) at += code === backslash ? 1 : 0;
    else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, (depth += 1));
    else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return deepest;
};

/** The deepest nesting that is accepted in input. */
export const deepestInput = 64;
