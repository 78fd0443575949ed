/**
 * Texts of bytes, from which the same bytes are made again, so that no program damages what is no UTF-8: each byte that
 * belongs to no character is one from U+DC80 to U+DCFF, as Python's `surrogateescape` has it.
 */

const firstEscape = 0xdc00;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** Returns how many bytes follow the first one of a character. */
const followers = (first: number): number => {
  if (first < 0xc2 || first > 0xf4) return 0;
  if (first < 0xe0) return 1;
  return first < 0xf0 ? 2 : 3;
};

/** The lowest character of each number of bytes that follow. */
const lowest = [0, 0x80, 0x800, 0x10000] as const;

/** Returns the character at a place, and the number of its bytes after the first; -1 if there is none. */
function characterAt(bytes: Uint8Array, at: number): readonly [character: number, more: number] {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return [first, 0];
  const more = followers(first);
  let character = first & (0x3f >> more);
  for (let next = at + 1; next <= at + more; next += 1) {
    const byte = bytes[next] ?? 0;
    if ((byte & 0xc0) !== 0x80) return [-1, 0];
    character = character * 64 + (byte & 0x3f);
  }
  const isValid = more > 0 && character >= (lowest[more] ?? 0) && character <= 0x10ffff;
  return isValid && (character < 0xd800 || character > 0xdfff) ? [character, more] : [-1, 0];
}

/** Characters that are joined to a text at once, since a call takes no more arguments. */
const joined = 8_192;

function decodeAny(bytes: Uint8Array): string {
  const parts: string[] = [];
  let units: number[] = [];
  for (let at = 0; at < bytes.length; at += 1) {
    const [character, more] = characterAt(bytes, at);
    at += more;
    units.push(character < 0 ? firstEscape + (bytes[at] ?? 0) : character);
    if (units.length < joined) continue;
    parts.push(String.fromCodePoint(...units));
    units = [];
  }
  return parts.join("") + String.fromCodePoint(...units);
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
