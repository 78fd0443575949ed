/** SHA-256 without waiting: file hashes are taken inside a storage transaction, where nothing may be awaited. */

const round = Uint32Array.from(primes(64), (prime) => fraction(Math.cbrt(prime)));
const initial = Uint32Array.from(primes(8), (prime) => fraction(Math.sqrt(prime)));

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

const rotate = (value: number, by: number): number => (value >>> by) | (value << (32 - by));

const at = (words: Uint32Array, index: number): number => words[index] ?? 0;

function schedule(words: Uint32Array): void {
  for (let index = 16; index < 64; index++) {
    const early = at(words, index - 15);
    const late = at(words, index - 2);
    const small = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
    const large = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
    words[index] = at(words, index - 16) + small + at(words, index - 7) + large;
  }
}

function compress(state: Uint32Array, words: Uint32Array): void {
  schedule(words);
  let [a, b, c, d] = [at(state, 0), at(state, 1), at(state, 2), at(state, 3)];
  let [e, f, g, h] = [at(state, 4), at(state, 5), at(state, 6), at(state, 7)];
  for (let index = 0; index < 64; index++) {
    const sum = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const first = (h + sum + ((e & f) ^ (~e & g)) + at(round, index) + at(words, index)) | 0;
    const other = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
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
  [a, b, c, d, e, f, g, h].forEach((value, index) => {
    state[index] = at(state, index) + value;
  });
}

function padded(bytes: Uint8Array): Uint8Array {
  const tail = bytes.length % 64;
  const block = new Uint8Array(tail < 56 ? 64 : 128);
  block.set(bytes.subarray(bytes.length - tail));
  block[tail] = 0x80;
  new DataView(block.buffer).setBigUint64(block.length - 8, BigInt(bytes.length) * 8n);
  return block;
}

/** The 32 bytes of SHA-256 of text (as UTF-8) or bytes. */
export function sha256(input: string | Uint8Array): Uint8Array {
  const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
  const state = Uint32Array.from(initial);
  const words = new Uint32Array(64);
  const feed = (block: Uint8Array): void => {
    const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
    for (let offset = 0; offset + 64 <= block.length; offset += 64) {
      for (let index = 0; index < 16; index++) words[index] = view.getUint32(offset + index * 4);
      compress(state, words);
    }
  };
  feed(bytes.subarray(0, bytes.length - (bytes.length % 64)));
  feed(padded(bytes));
  const result = new Uint8Array(32);
  state.forEach((value, index) => new DataView(result.buffer).setUint32(index * 4, value));
  return result;
}

/** Lower-case hex. */
export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Lower-case hex of SHA-256. */
export const sha256Hex = (input: string | Uint8Array): string => hexOf(sha256(input));

/** Lower-case base32 (RFC 4648) without padding. */
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
