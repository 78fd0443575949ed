import { deflateRawSync, inflateRawSync } from "node:zlib";

/** Packs texts that are rarely read. A dictionary is a text whose phrases the packed one repeats. */

const level = 6;

/** Packs are short, and a larger buffer for what comes out costs more time than the packing. */
const chunkSize = 4_096;

const dictionaryBytes = 16_384;

/** A character takes a byte at least, so that what follows the first ones is not encoded in vain. */
const dictionaryOf = (text: string | null): { readonly dictionary?: Uint8Array } =>
  text === null
    ? {}
    : { dictionary: new TextEncoder().encode(text.slice(0, dictionaryBytes)).subarray(0, dictionaryBytes) };

export const packText = (text: string, dictionary: string | null): ArrayBuffer => {
  const bytes = deflateRawSync(text, { level, chunkSize, ...dictionaryOf(dictionary) });
  return new Uint8Array(bytes).buffer;
};

export const unpackText = (pack: ArrayBuffer, dictionary: string | null): string =>
  new TextDecoder().decode(inflateRawSync(pack, dictionaryOf(dictionary)));
