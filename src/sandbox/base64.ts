import { Buffer } from "node:buffer";

/** Encodes bytes as base64 (RFC 4648 §4). */
export const toBase64 = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString("base64");

/** Decodes base64; whatever does not belong to it is left out. */
export const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(text, "base64"));

/** Returns whether a text has only the letters of base64, line breaks among them. */
export const hasOnlyBase64Letters = (text: string): boolean => !/[^A-Za-z0-9+/=\s]/.test(text);

/** Encodes bytes as base64url without padding (RFC 4648 §5). */
export const toBase64Url = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString("base64url");

/** Decodes unpadded base64url; returns null unless `text` is exactly what `toBase64Url` would write. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  const bytes = new Uint8Array(Buffer.from(text, "base64url"));
  return toBase64Url(bytes) === text ? bytes : null;
}

/** Encodes a value as JSON in base64url. */
export const jsonToBase64Url = (value: unknown): string =>
  toBase64Url(new TextEncoder().encode(JSON.stringify(value)));

/** Decodes the output of `jsonToBase64Url`; returns null if it is not JSON in UTF-8. */
export function jsonFromBase64Url(text: string): unknown {
  const bytes = fromBase64Url(text);
  if (bytes === null) return null;
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch {
    return null;
  }
}
