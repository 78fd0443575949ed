const pieceLength = 32_768;

/** Encodes bytes of any length as base64. */
export const toBase64 = (bytes: Uint8Array): string => {
  let binary = "";
  for (let at = 0; at < bytes.length; at += pieceLength)
    binary += String.fromCharCode(...bytes.subarray(at, at + pieceLength));
  return btoa(binary);
};

/** Decodes valid base64. */
export const fromBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** Encodes bytes as base64url without padding (RFC 4648 §5). */
export const toBase64Url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** Decodes unpadded base64url; returns null unless `text` is exactly what `toBase64Url` would write. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return null;
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
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
