/** How the checks of the fake providers read a body, and what is refused in every dialect. */

export type Fields = { readonly [key: string]: unknown };
/** What a provider is asked for: a kind of the team file, or the Responses API of OpenAI. */
export type Kind = "anthropic" | "openai" | "responses" | "grok" | "gemini" | "compatible";

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const keysBeside = (value: Fields, allowed: string): string | undefined =>
  Object.keys(value).find((key) => !allowed.split(" ").includes(key));
export const isBlank = (value: unknown): boolean => typeof value !== "string" || value.trim() === "";
export const namePattern = /^[A-Za-z0-9_-]{1,64}$/;
export const idPattern = /^[A-Za-z0-9_-]+$/;

/** The signature that this server issues for a piece of thinking; anything else is refused when it comes back. */
export const signatureFor = (thinking: string): string => {
  let hash = 7;
  for (const char of thinking) hash = (Math.imul(hash, 31) + (char.codePointAt(0) ?? 0)) >>> 0;
  return `sig+/${hash.toString(36)}==`;
};

/** The encrypted content that this server issues for a piece of reasoning; anything else is refused. */
export const sealFor = (reasoning: string): string => `${reasoning}:${signatureFor(reasoning)}`;

/** The first fault of a list of checks, each run only if those before found none. */
export const first = (...checks: readonly (() => string | null | undefined | false)[]): string | null => {
  for (const check of checks) {
    const fault = check();
    if (typeof fault === "string") return fault;
  }
  return null;
};
export const each = <T>(
  values: readonly T[],
  check: (value: T, at: number) => string | null,
): string | null => {
  for (const [at, value] of values.entries()) {
    const fault = check(value, at);
    if (fault !== null) return fault;
  }
  return null;
};

export const isBase64 = (text: string): boolean => Buffer.from(text, "base64").toString("base64") === text;

const dataUrl = /^data:[a-z]+\/[a-z]+;base64,(?=.)/;

export const checkDataUrl = (url: string, where: string): string | null =>
  dataUrl.test(url) && isBase64(url.replace(dataUrl, "")) ? null : `${where}: invalid base64 data`;

/** Levels that these servers' parsers take. */
const deepest = 100;

/** What is legal in JSON text and refused by these servers all the same, also inside arguments: null if there is nothing. */
export const jsonFault = (value: unknown, level = 0): string | null => {
  if (typeof value === "string" && !value.isWellFormed()) return "invalid JSON: no low surrogate in string";
  if (typeof value === "number" && !Number.isFinite(value)) return "invalid JSON: number out of range";
  if (typeof value !== "object" || value === null) return null;
  if (level === deepest) return "invalid JSON: recursion limit exceeded";
  return each(Object.entries(value).flat(), (inner) => jsonFault(inner, level + 1));
};

export const isJsonObject = (text: unknown): boolean => {
  try {
    const value: unknown = JSON.parse(String(text));
    return isFields(value) && jsonFault(value) === null;
  } catch {
    return false;
  }
};

/** Whether some list in a schema says nothing of its items: an empty schema is something, except to Google. */
export const lacksItems = (schema: unknown, kind: Kind): boolean => {
  if (Array.isArray(schema)) return schema.some((inner) => lacksItems(inner, kind));
  if (!isFields(schema)) return false;
  const { type, items } = schema;
  const isList = type === "array" || (Array.isArray(type) && type.includes("array"));
  const isEmpty = kind === "gemini" && isFields(items) && Object.keys(items).length === 0;
  if (isList && (items === undefined || isEmpty)) return true;
  return Object.values(schema).some((inner) => lacksItems(inner, kind));
};
