import { isJsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";

/**
 * Finds and removes characters that are invisible to people but not to a model: controls, marks of writing
 * direction, tags, selectors. What joins letters or makes a sign an emoji belongs to visible text.
 */

const hiddenCharacter = /(?!\n|\t|\u200C|\u200D|\uFE0F)[\p{Cc}\p{Default_Ignorable_Code_Point}]/u;

const hiddenCharacters = new RegExp(hiddenCharacter, "gu");

export const removeHidden = (text: string): string => text.replace(hiddenCharacters, "");

/**
 * Returns whether a value holds hidden characters; a line may end with a carriage return, which JSON writes
 * visibly.
 */
const hides = (text: string): boolean => hiddenCharacter.test(text.replaceAll("\r", ""));

/** Returns the first text of a value, or name in it, with hidden characters; null if there is none. */
export const findHidden = (value: Json): string | null => {
  if (typeof value === "string") return hides(value) ? value : null;
  const inner = isJsonObject(value) ? Object.entries(value).flat() : Array.isArray(value) ? value : [];
  for (const each of inner as readonly Json[]) {
    const found = findHidden(each);
    if (found !== null) return found;
  }
  return null;
};
