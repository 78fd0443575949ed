/** Computes SHA-256 synchronously, since file hashes are computed inside a storage transaction, which cannot await. */

const roundConstants = Int32Array.from(primes(64), (prime) => fraction(Math.cbrt(prime)) | 0);
const initialState = Int32Array.from(primes(8), (prime) => fraction(Math.sqrt(prime)) | 0);

function primes(count: number): number[] {
  const found: number[] = [];
  for (let candidate = 2; found.length < count; candidate++) {
    if (found.every((prime) => candidate % prime !== 0)) found.push(candidate);
  }
  return found;
}

function fraction(value: number): number {
  return Math.floor((value - Math.floor(value)) * 2 ** 32);
}

const wordAt = (words: Int32Array, index: number): number => words[index] ?? 0;

/** Message schedule of the current block, and the hash so far; they can be shared since nothing is awaited. */
const words = new Int32Array(64);
const state = new Int32Array(8);

function load(bytes: Uint8Array, offset: number): void {
  for (let index = 0; index < 16; index++) {
    const from = offset + index * 4;
    const high = ((bytes[from] ?? 0) << 24) | ((bytes[from + 1] ?? 0) << 16);
    words[index] = high | ((bytes[from + 2] ?? 0) << 8) | (bytes[from + 3] ?? 0);
  }
  for (let index = 16; index < 64; index++) {
    const early = wordAt(words, index - 15);
    const late = wordAt(words, index - 2);
    const small = ((early >>> 7) | (early << 25)) ^ ((early >>> 18) | (early << 14)) ^ (early >>> 3);
    const large = ((late >>> 17) | (late << 15)) ^ ((late >>> 19) | (late << 13)) ^ (late >>> 10);
    words[index] = wordAt(words, index - 16) + small + wordAt(words, index - 7) + large;
  }
}

function compress(): void {
  let a = wordAt(state, 0);
  let b = wordAt(state, 1);
  let c = wordAt(state, 2);
  let d = wordAt(state, 3);
  let e = wordAt(state, 4);
  let f = wordAt(state, 5);
  let g = wordAt(state, 6);
  let h = wordAt(state, 7);
  for (let index = 0; index < 64; index++) {
    const sum = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const first = (h + sum + ((e & f) ^ (~e & g)) + wordAt(roundConstants, index) + wordAt(words, index)) | 0;
    const other = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const second = (other + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  add(0, a);
  add(1, b);
  add(2, c);
  add(3, d);
  add(4, e);
  add(5, f);
  add(6, g);
  add(7, h);
}

function add(index: number, word: number): void {
  state[index] = wordAt(state, index) + word;
}

const lastBlock = new Uint8Array(128);

/** Processes the bytes after the last whole block, padded to one block or two. */
function feedEnd(bytes: Uint8Array, length: number): void {
  const tail = length % 64;
  const size = tail < 56 ? 64 : 128;
  lastBlock.fill(0);
  for (let index = 0; index < tail; index++) lastBlock[index] = bytes[length - tail + index] ?? 0;
  lastBlock[tail] = 0x80;
  for (let index = 0; index < 6; index++)
    lastBlock[size - 1 - index] = Math.floor((length * 8) / 2 ** (index * 8)) % 256;
  for (let offset = 0; offset < size; offset += 64) {
    load(lastBlock, offset);
    compress();
  }
}

/** Computes the hash of the first `length` bytes into `state`. */
function hash(bytes: Uint8Array, length: number): void {
  state.set(initialState);
  for (let offset = 0; offset + 64 <= length; offset += 64) {
    load(bytes, offset);
    compress();
  }
  feedEnd(bytes, length);
}

const encoder = new TextEncoder();
const shortBuffer = new Uint8Array(8_192);

function hashText(text: string): void {
  if (text.length * 3 <= shortBuffer.length) {
    hash(shortBuffer, encoder.encodeInto(text, shortBuffer).written);
    return;
  }
  const bytes = encoder.encode(text);
  hash(bytes, bytes.length);
}

/** Returns the 32 bytes of the SHA-256 of a text (as UTF-8) or of bytes. */
export function sha256(input: string | Uint8Array): Uint8Array {
  if (typeof input === "string") hashText(input);
  else hash(input, input.length);
  const result = new Uint8Array(32);
  const view = new DataView(result.buffer);
  for (let index = 0; index < 8; index++) view.setInt32(index * 4, wordAt(state, index));
  return result;
}

const sixBits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Returns a short digest that distinguishes texts: the first 96 bits of SHA-256 as 16 characters of base64url. */
export function shortDigest(text: string): string {
  hashText(text);
  let result = "";
  for (let index = 0; index < 16; index++) {
    const bit = index * 6;
    const word = bit >> 5;
    const rest = 26 - (bit & 31);
    const value =
      rest >= 0
        ? wordAt(state, word) >>> rest
        : (wordAt(state, word) << -rest) | (wordAt(state, word + 1) >>> (32 + rest));
    result += sixBits.charAt(value & 63);
  }
  return result;
}

const digits = "0123456789abcdef";

/** Formats bytes as lower-case hex. */
export const hexOf = (bytes: Uint8Array): string => {
  let text = "";
  for (const byte of bytes) text += digits.charAt(byte >> 4) + digits.charAt(byte & 15);
  return text;
};

/** Returns the SHA-256 in lower-case hex. */
export const sha256Hex = (input: string | Uint8Array): string => hexOf(sha256(input));

/** Formats bytes as lower-case base32 (RFC 4648) without padding. */
export function base32(bytes: Uint8Array): string {
  const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  let text = "";
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet[(value >>> bits) & 31];
    }
  }
  return bits > 0 ? text + alphabet[(value << (5 - bits)) & 31] : text;
}
