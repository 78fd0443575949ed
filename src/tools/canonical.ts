import { sha256Hex } from "../sandbox/sha256.ts";

/** Formats JSON with sorted keys: equal values have equal text, whatever their key order. Undefined counts as null. */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  const pairs = Object.entries(value).filter(([, each]) => each !== undefined);
  pairs.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${pairs.map(([key, each]) => `${JSON.stringify(key)}:${canonicalJson(each)}`).join(",")}}`;
};

/** Returns the SHA-256 of a value's canonical JSON in hexadecimal. */
export const digestJson = (value: unknown): string => sha256Hex(canonicalJson(value));
