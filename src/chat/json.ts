import type { Json } from "./message.ts";

/** An object of JSON: neither null nor a list. */
export type Fields = { readonly [key: string]: Json };

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields of a value; what is no object has none. */
export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

/** The value of a JSON text, or undefined if it is none. */
export const parseJson = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
};
