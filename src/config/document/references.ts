import type { Path } from "./diagnostics.ts";

/** Handles `${NAME}` references to secrets and variables. */

const namePattern = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

const referencePattern = /\$\$\{|\$\{([^}]*)(\}?)/g;

interface References {
  /** Names in order of appearance, each once. */
  readonly names: readonly string[];
  /** Texts that look like a reference but are not one. */
  readonly malformed: readonly string[];
}

/** Returns whether a name is reserved for the runtime, so that no reference resolves it. */
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

/** Replaces each `${NAME}` by its `lookup`, once; unset, empty and reserved names are reported as missing. */
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

/** Replaces each reference by `x`, including malformed ones, so that the text can be checked as it will be used. */
export const withoutReferences = (text: string): string =>
  text.replaceAll(referencePattern, (_, name?: string) => (name === undefined ? "${" : "x"));

/** Returns the command that sets a secret of a team's Worker. */
export const secretCommand = (name: string, team: string): string =>
  `wrangler secret put ${name}${team === "default" ? "" : ` --env ${team}`}`;

/** Returns the file from which a local server reads the secrets of a team. */
export const localSecretsFile = (team: string): string => `.dev.vars${team === "default" ? "" : `.${team}`}`;

/**
 * Returns the sentence for an unset or reserved reference of `field`, with the remedy, which is different on a
 * local server; only administrators read it.
 */
export const missingReferenceText = (field: string, name: string, team: string, isLocal: boolean): string => {
  if (isReserved(name)) return `${field}: ${name} belongs to the runtime; refer to a secret of another name`;
  const remedy = isLocal
    ? `name it under secrets in wrangler.toml, write it into ${localSecretsFile(team)} and start again`
    : secretCommand(name, team);
  return `${field}: secret ${name} is not set (${remedy})`;
};

/**
 * Returns the sentence for callers and models, who do not learn the names of secrets. No colon follows the name of a
 * header, since the mask of log lines would take the next word for its value.
 */
export const unsetSecretText = (what: string): string =>
  `the secret of ${what} is not set; GET /readyz tells an administrator which one`;

const secretFields: ReadonlySet<unknown> = new Set(["api_key", "secret", "client_secret", "private_key"]);

const referenceFields: ReadonlySet<unknown> = new Set([
  ...secretFields,
  "base_url",
  "model",
  "url",
  "endpoint",
  "client_id",
  "work_dir",
  "permissions_file",
  "binding",
]);

const opaqueKeys = new Set<string | number>(["script", "effects", "middleware", "options", "models"]);

/** Returns the index of the `headers` or `env` that holds the text at `path`; -1 for other texts. */
const holderIndex = (path: Path): number => path.findIndex((part) => part === "headers" || part === "env");

/** Returns whether references are expanded in the text at `path`; elsewhere `${` is plain text. */
export const isReferenceField = (path: Path): boolean => {
  const [section, ...rest] = path;
  if (section === "sandbox" && rest[0] === "env") return false;
  const holder = holderIndex(path);
  const keys = holder === -1 ? path : path.slice(0, holder);
  if (keys.some((part) => opaqueKeys.has(part))) return false;
  if (holder !== -1) return path.length > holder + 1;
  return referenceFields.has(path.at(-1));
};

const secretHeader = /authorization|cookie|key|token|secret/i;

/** Returns whether the text at `path` is a secret that should be a reference: a key, or a header that carries one. */
const isSecretField = (path: Path): boolean => {
  const holder = holderIndex(path);
  const last = path.at(-1);
  const named =
    holder === -1 ? secretFields.has(last) : path[holder] === "headers" && secretHeader.test(String(last));
  return named && isReferenceField(path);
};

/** Matches names like `$NAME` in capitals, which shells and other programs expand and this one does not. */
const shellPattern = /(?<!\$)\$([A-Z][A-Z0-9_]*)(?![A-Za-z0-9_])/g;

/** Finds names that a text refers to as `$NAME`, which is not a reference here. */
export const shellReferencesIn = (text: string): readonly string[] =>
  [...text.matchAll(shellPattern)].map(([, name = ""]) => name);

/** Rewrites each `$NAME` of a text as `${NAME}`. */
export const withBraces = (text: string): string => text.replaceAll(shellPattern, "$${$1}");

/** Returns whether a part of a secret is literal: `sk-a${REST}`, but not `Bearer ${KEY}` or `${USER}:${KEY}`. */
const hasLiteralPart = (text: string): boolean =>
  text
    .replaceAll(referencePattern, "$")
    .replaceAll(shellPattern, "$")
    .split(/[^\w.~+$-]+/)
    .some((word) => word.includes("$") && /[A-Za-z0-9]/.test(word));

/** Returns whether the text at `path` is a secret that is written in the file itself, in whole or in part. */
export const isLiteralSecret = (path: Path, text: string): boolean => {
  if (text === "" || !isSecretField(path)) return false;
  const { names, malformed } = referencesIn(text);
  if (malformed.length > 0) return false;
  return names.length + shellReferencesIn(text).length === 0 || hasLiteralPart(text);
};
