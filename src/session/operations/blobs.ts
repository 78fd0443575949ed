import type { Draft } from "../../agent/transaction/draft.ts";
import { refuseField } from "../problems.ts";

/** Stores bytes that come as base64 or data URL. */

export const dataUrlPattern = /^data:([a-z0-9.+/-]+);base64,/i;

/**
 * Returns whether a text is base64, by looking for one wrong character: a pattern for the whole of a long
 * text may overflow the engine's stack.
 */
const isBase64 = (text: string): boolean => {
  const padding = text.indexOf("=");
  const isPadded = padding === -1 || /^={1,2}$/.test(text.slice(Math.max(padding, text.length - 3)));
  return text !== "" && text.length % 4 === 0 && isPadded && !/[^A-Za-z0-9+/=]/.test(text);
};

/** Returns the base64 in a text that may be a data URL; `pointer` names the field. */
export const base64Of = (data: string, pointer: string): string => {
  const bytes = data.replace(dataUrlPattern, "").replace(/\s+/g, "");
  if (isBase64(bytes)) return bytes;
  if (bytes.includes("[secret:"))
    return refuseField("invalid_request", pointer, "it holds a secret of this deployment; send it without", {
      rule: "secret",
    });
  return refuseField("invalid_request", pointer, "not base64", { rule: "base64" });
};

/** Stores a text or base64 apart from the state, in the same commit, and returns its name. */
export const storeBlob = (draft: Draft, text: string): string => {
  const id = `m${draft.state.nextBlob}`;
  draft.state.nextBlob += 1;
  draft.blobs.push({ id, text });
  return id;
};
