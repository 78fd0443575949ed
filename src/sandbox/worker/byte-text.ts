import { Buffer } from "node:buffer";

/**
 * Texts of bytes, from which the same bytes are made again, so that no program damages what is no UTF-8: each byte that
 * belongs to no character is one from U+DC80 to U+DCFF, as Python's `surrogateescape` has it.
 */

const firstEscape = 0xdc00;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** The lowest character of each number of bytes that follow the first. */
const lowest = [0, 0x80, 0x800, 0x10000] as const;

/** Returns the character of a place in some bytes; -1 if there is none, or only one that takes less bytes. */
function characterAt(bytes: Uint8Array, at: number, more: number): number {
  let character = (bytes[at] ?? 0) & (0x3f >> more);
  for (let next = at + 1; next <= at + more; next += 1) {
    const byte = bytes[next] ?? 0;
    if ((byte & 0xc0) !== 0x80) return -1;
    character = (character << 6) | (byte & 0x3f);
  }
  const isValid = character >= (lowest[more] ?? 0) && character <= 0x10ffff;
  return isValid && (character < 0xd800 || character > 0xdfff) ? character : -1;
}

/** Returns how many bytes follow the first one of a character. */
const followers = (first: number): number => {
  if (first < 0xc2 || first > 0xf4) return 0;
  if (first < 0xe0) return 1;
  return first < 0xf0 ? 2 : 3;
};

function decodeAny(bytes: Uint8Array): string {
  const units = new Uint16Array(bytes.length);
  let size = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const first = bytes[at] ?? 0;
    const more = followers(first);
    const character = more === 0 ? -1 : characterAt(bytes, at, more);
    if (character < 0) units[size++] = first < 0x80 ? first : firstEscape + first;
    else {
      at += more;
      if (character > 0xffff) units[size++] = 0xd7c0 + (character >> 10);
      units[size++] = character > 0xffff ? 0xdc00 + (character & 0x3ff) : character;
    }
  }
  // Unlike a decoder, this keeps halves of characters.
  return Buffer.from(units.buffer, 0, 2 * size).toString("utf16le");
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    return decodeAny(bytes);
  }
}

const isEscape = (unit: number): boolean => unit >= 0xdc80 && unit <= 0xdcff;

function encode(text: string): Uint8Array {
  if (text.isWellFormed()) return encoder.encode(text);
  const bytes = new Uint8Array(3 * text.length);
  let size = 0;
  for (const character of text) {
    const unit = character.charCodeAt(0);
    if (unit < 0x80 || isEscape(unit)) bytes[size++] = unit;
    else size += encoder.encodeInto(character, bytes.subarray(size)).written;
  }
  return bytes.slice(0, size);
}

export const byteText = { decode, encode };
