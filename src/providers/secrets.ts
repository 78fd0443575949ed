import { modelError } from "../model/failure.ts";
import type { Origin } from "../model/failure.ts";

/**
 * Gives a config text with its `${NAME}` references resolved. For an unset one it throws an error that says so (CF-20)
 * or leaves the reference as it is. Called at each use, so that a rotated secret counts at once.
 */
export type SecretReader = (text: string, field: string) => string;

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/;

const unset = (field: string, name: string): string =>
  `${field}: secret ${name} is not set (wrangler secret put ${name})`;

/** A text with its secrets, or an `auth` failure that names field, secret and command, never a value (CF-20). */
export const reveal = (text: string, field: string, read: SecretReader, origin: Origin): string => {
  const name = reference.exec(text)?.[1];
  if (name === undefined) return text;
  let value: string;
  try {
    value = read(text, field);
  } catch (error) {
    throw modelError("auth", origin, error instanceof Error ? error.message : unset(field, name));
  }
  const missing = reference.exec(value)?.[1] ?? (value.trim() === "" ? name : undefined);
  if (missing !== undefined) throw modelError("auth", origin, unset(field, missing));
  return value;
};
