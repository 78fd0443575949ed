import type { Json } from "../chat/message.ts";

/** The value of a JSON text, or undefined if it is none. */
export const parseJson = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
};
