/** The format, width and height in pixels of an image, read from its header. */
export interface ImageSize {
  readonly type: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  readonly width: number;
  readonly height: number;
}

/** Random access to the bytes of a base64 text, so that a header is read without decoding the image. */
interface Base64Bytes {
  readonly length: number;
  readonly at: (index: number) => number;
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const sextets = new Map(Array.from(alphabet, (letter, value) => [letter.charCodeAt(0), value]));

const openBase64 = (base64: string): Base64Bytes => {
  const sextet = (index: number): number => sextets.get(base64.charCodeAt(index)) ?? 0;
  const at = (index: number): number => {
    const first = Math.floor(index / 3) * 4 + (index % 3);
    const pair = (sextet(first) << 6) | sextet(first + 1);
    return (pair >> (4 - 2 * (index % 3))) & 0xff;
  };
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return { length: Math.floor(((base64.length - padding) * 3) / 4), at };
};

const readBigEndian = (bytes: Base64Bytes, index: number, size: number): number => {
  let value = 0;
  for (let i = 0; i < size; i++) value = value * 256 + bytes.at(index + i);
  return value;
};

const readLittleEndian = (bytes: Base64Bytes, index: number, size: number): number => {
  let value = 0;
  for (let i = size - 1; i >= 0; i--) value = value * 256 + bytes.at(index + i);
  return value;
};

const hasTextAt = (bytes: Base64Bytes, index: number, text: string): boolean =>
  Array.from(text).every((letter, i) => bytes.at(index + i) === letter.charCodeAt(0));

const readPngSize = (bytes: Base64Bytes): ImageSize | null =>
  hasTextAt(bytes, 1, "PNG") && hasTextAt(bytes, 12, "IHDR")
    ? { type: "image/png", width: readBigEndian(bytes, 16, 4), height: readBigEndian(bytes, 20, 4) }
    : null;

const readGifSize = (bytes: Base64Bytes): ImageSize | null =>
  hasTextAt(bytes, 0, "GIF8")
    ? { type: "image/gif", width: readLittleEndian(bytes, 6, 2), height: readLittleEndian(bytes, 8, 2) }
    : null;

/** Reads WebP, whose three forms keep the size in 14 bits, 14 packed bits, or 24 bits less one. */
const readWebpSize = (bytes: Base64Bytes): ImageSize | null => {
  if (!hasTextAt(bytes, 0, "RIFF") || !hasTextAt(bytes, 8, "WEBP")) return null;
  const type = "image/webp";
  if (hasTextAt(bytes, 12, "VP8 ")) {
    return {
      type,
      width: readLittleEndian(bytes, 26, 2) & 0x3fff,
      height: readLittleEndian(bytes, 28, 2) & 0x3fff,
    };
  }
  if (hasTextAt(bytes, 12, "VP8L")) {
    const packed = readLittleEndian(bytes, 21, 4);
    return { type, width: (packed % 0x4000) + 1, height: (Math.floor(packed / 0x4000) % 0x4000) + 1 };
  }
  if (!hasTextAt(bytes, 12, "VP8X")) return null;
  return { type, width: readLittleEndian(bytes, 24, 3) + 1, height: readLittleEndian(bytes, 27, 3) + 1 };
};

/** Frame headers are C0 to CF without the tables C4, C8 and CC. */
const isFrameMarker = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

const readJpegSize = (bytes: Base64Bytes): ImageSize | null => {
  if (bytes.at(0) !== 0xff || bytes.at(1) !== 0xd8) return null;
  let index = 2;
  while (index + 9 < bytes.length && bytes.at(index) === 0xff) {
    const marker = bytes.at(index + 1);
    if (isFrameMarker(marker)) {
      return {
        type: "image/jpeg",
        width: readBigEndian(bytes, index + 7, 2),
        height: readBigEndian(bytes, index + 5, 2),
      };
    }
    index += marker === 0xff ? 1 : 2 + Math.max(2, readBigEndian(bytes, index + 2, 2));
  }
  return null;
};

/** Reads format and size of a PNG, JPEG, GIF or WebP image given as base64; null if its header cannot be read. */
export const imageSize = (base64: string): ImageSize | null => {
  const bytes = openBase64(base64);
  if (bytes.length < 10) return null;
  const size = readPngSize(bytes) ?? readGifSize(bytes) ?? readWebpSize(bytes) ?? readJpegSize(bytes);
  return size !== null && size.width > 0 && size.height > 0 ? size : null;
};

/** Longest base64 of an image that models still accept, and the most pixels of its longer side. */
export const longestImage = 5 * 1024 * 1024;
const maxImageBytes = (longestImage / 4) * 3;
const maxImagePixels = 8_000;

/** Says which images can be shown. */
export const imageAdvice = `Use a PNG, JPEG, GIF or WebP image of at most ${maxImageBytes} bytes and ${maxImagePixels} pixels a side.`;

export type ImageCheck =
  | { readonly ok: true; readonly type: ImageSize["type"] }
  | { readonly ok: false; readonly problem: string };

/** Returns the format of an image that models accept, given as base64, or a sentence about why they would refuse it. */
export const checkImage = (base64: string): ImageCheck => {
  const refuse = (why: string): ImageCheck => ({ ok: false, problem: `${why}, so it cannot be shown.` });
  if (base64.length > longestImage) return refuse(`It is larger than ${maxImageBytes} bytes`);
  const size = imageSize(base64);
  if (size === null) return refuse("Its header cannot be read");
  if (Math.max(size.width, size.height) > maxImagePixels)
    return refuse(`It is more than ${maxImagePixels} pixels wide or high`);
  return { ok: true, type: size.type };
};
