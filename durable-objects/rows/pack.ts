import { deflateRawSync, inflateRawSync } from "node:zlib";

/** Packs texts that are rarely read. A dictionary is the beginning of a text whose phrases the packed one repeats. */

const level = 6;

/** Buffer size for unpacking: packs are short, and a larger buffer costs more time than the packing. */
const chunkSize = 4_096;

const dictionaryBytes = 16_384;

const options = (dictionary: Uint8Array | null) => (dictionary === null ? {} : { dictionary });

export const packText = (text: string, dictionary: Uint8Array | null): ArrayBuffer => {
  const bytes = deflateRawSync(text, { level, chunkSize, ...options(dictionary) });
  return new Uint8Array(bytes).buffer;
};

export const unpackText = (pack: ArrayBuffer, dictionary: Uint8Array | null): string =>
  new TextDecoder().decode(inflateRawSync(pack, options(dictionary)));

/** Returns the dictionary for other packs that a pack without one contains. */
export const dictionaryOf = (pack: ArrayBuffer): Uint8Array =>
  inflateRawSync(pack).subarray(0, dictionaryBytes);
