import type { Path } from "./diagnostics.ts";

/** This file handles `${NAME}` references to secrets and variables. */

const namePattern = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

const referencePattern = /\$\$\{|\$\{([^}]*)(\}?)/g;

interface References {
  /** The names in order of appearance, each once. */
  readonly names: readonly string[];
  /** Texts that look like a reference but are none. */
  readonly malformed: readonly string[];
}

/** Whether a name is reserved for the runtime, so that no reference resolves it. */
export const isReserved = (name: string): boolean => name.startsWith("LIMPET_");

/** Finds the references in a text; `$${` is a literal `${`. */
export const referencesIn = (text: string): References => {
  const names = new Set<string>();
  const malformed: string[] = [];
  for (const [whole, name, close] of text.matchAll(referencePattern)) {
    if (name === undefined) continue;
    if (close === "}" && namePattern.test(name)) names.add(name);
    else malformed.push(whole);
  }
  return { names: [...names], malformed };
};

export type ResolvedText =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly missing: readonly string[] };

/** Replaces each `${NAME}` by its `lookup`, once; unset, empty and reserved names are missing. */
export const resolveReferences = (
  text: string,
  lookup: (name: string) => string | null | undefined,
): ResolvedText => {
  const missing = new Set<string>();
  const value = text.replaceAll(referencePattern, (whole: string, name?: string, close?: string) => {
    if (name === undefined) return "${";
    if (close !== "}" || !namePattern.test(name)) return whole;
    const found = isReserved(name) ? "" : (lookup(name) ?? "");
    if (found === "") missing.add(name);
    return found;
  });
  return missing.size === 0 ? { ok: true, value } : { ok: false, missing: [...missing] };
};

/** Replaces each reference by `x`, malformed ones too, so that the text can be checked as it will be used. */
export const withoutReferences = (text: string): string =>
  text.replaceAll(referencePattern, (_, name?: string) => (name === undefined ? "${" : "x"));

/** The command that sets a secret of a team's Worker. */
export const secretCommand = (name: string, team: string): string =>
  `wrangler secret put ${name}${team === "default" ? "" : ` --env ${team}`}`;

/** The sentence for an unset or reserved reference of `field`, with what to do. */
export const missingReferenceText = (field: string, name: string, team: string): string =>
  isReserved(name)
    ? `${field}: ${name} belongs to the runtime; refer to a secret of another name`
    : `${field}: secret ${name} is not set (${secretCommand(name, team)})`;

const referenceFields = new Set([
  "api_key",
  "base_url",
  "model",
  "url",
  "endpoint",
  "secret",
  "work_dir",
  "permissions_file",
  "binding",
]);

const opaqueKeys = new Set<string | number>(["script", "effects", "middleware", "options", "models"]);

/** Whether references are expanded in the text at `path`; elsewhere `${` is plain text. */
export const isReferenceField = (path: Path): boolean => {
  const [section, ...rest] = path;
  if (section === "sandbox" && rest[0] === "env") return false;
  const holder = path.findIndex((part) => part === "headers" || part === "env");
  const keys = holder === -1 ? path : path.slice(0, holder);
  if (keys.some((part) => opaqueKeys.has(part))) return false;
  if (holder !== -1) return path.length > holder + 1;
  return referenceFields.has(String(path.at(-1)));
};
