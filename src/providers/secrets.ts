import { modelError } from "../model/failure.ts";
import type { AttemptOrigin } from "../model/failure.ts";
import type { Profile } from "./profile.ts";
import type { ProviderConfig } from "./schema.ts";

/**
 * Resolves the `${NAME}` references of a config text; throws an error that names field, secret and remedy if one is
 * unset. It is called at each use, so that a rotated secret takes effect at once.
 */
export type SecretReader = (text: string, field: string) => string;

const unsetSentence = (field: string, text: string): string => {
  const name = /\$\{([^}]*)/.exec(text)?.[1] ?? "";
  return `${field}: secret ${name} is not set (wrangler secret put ${name})`;
};

/** Resolves a text's secrets, or throws an `auth` failure that names what is missing and never quotes a value. */
export const reveal = (text: string, field: string, read: SecretReader, origin: AttemptOrigin): string => {
  if (!text.includes("${")) return text;
  let value: string;
  try {
    value = read(text, field);
  } catch (error) {
    throw modelError("auth", origin, error instanceof Error ? error.message : unsetSentence(field, text));
  }
  if (value.trim() === "") throw modelError("auth", origin, unsetSentence(field, text));
  return value;
};

/** Resolves a header's text in the same way and trims it. */
export const revealHeader = (
  text: string,
  field: string,
  read: SecretReader,
  origin: AttemptOrigin,
): string => {
  const value = reveal(text, field, read, origin);
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value.trim())) return value;
  const wayOut = "set the secret again, without quotes or line breaks";
  throw modelError("auth", origin, `${field}: holds characters that no header can carry; ${wayOut}`);
};

/** The key and the configured headers of one request, by lower-case name; `read` gets the field of each text. */
export const readCredentials = (
  { profile, config }: { readonly profile: Profile; readonly config: ProviderConfig },
  read: SecretReader,
): ReadonlyMap<string, string> => {
  const out = new Map<string, string>();
  if (config.api_key !== undefined) {
    const key = read(config.api_key, "api_key");
    if ((config.auth ?? profile.auth) === "x-api-key") out.set("x-api-key", key);
    else out.set("authorization", `Bearer ${key}`);
  }
  for (const [name, value] of Object.entries(config.headers))
    out.set(name.toLowerCase(), read(value, `headers.${name}`));
  return out;
};
