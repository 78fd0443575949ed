import { modelError } from "../model/failure.ts";
import type { Origin } from "../model/failure.ts";

/**
 * Gives a config text with its `${NAME}` references resolved; throws an error that names field, secret and the way out
 * if one is unset (CF-20). Called at each use, so that a rotated secret counts at once.
 */
export type SecretReader = (text: string, field: string) => string;

const firstName = (text: string): string => /\$\{([^}]*)/.exec(text)?.[1] ?? "";

const unset = (field: string, text: string): string => {
  const name = firstName(text);
  return `${field}: secret ${name} is not set (wrangler secret put ${name})`;
};

/** A text with its secrets, or an `auth` failure that says what is missing and never quotes a value. */
export const reveal = (text: string, field: string, read: SecretReader, origin: Origin): string => {
  if (!text.includes("${")) return text;
  let value: string;
  try {
    value = read(text, field);
  } catch (error) {
    throw modelError("auth", origin, error instanceof Error ? error.message : unset(field, text));
  }
  if (value.trim() === "") throw modelError("auth", origin, unset(field, text));
  return value;
};
