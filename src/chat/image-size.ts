/** Width and height in pixels, read from an image's header. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Random access to the bytes of a base64 text, so that a header is read without decoding the image. */
interface Bytes {
  readonly length: number;
  readonly at: (index: number) => number;
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const sextets = new Map(Array.from(alphabet, (letter, value) => [letter.charCodeAt(0), value]));

const openBase64 = (base64: string): Bytes => {
  const sextet = (index: number): number => sextets.get(base64.charCodeAt(index)) ?? 0;
  const at = (index: number): number => {
    const first = Math.floor(index / 3) * 4 + (index % 3);
    const pair = (sextet(first) << 6) | sextet(first + 1);
    return (pair >> (4 - 2 * (index % 3))) & 0xff;
  };
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  return { length: Math.floor(((base64.length - padding) * 3) / 4), at };
};

const bigEndian = (bytes: Bytes, index: number, size: number): number => {
  let value = 0;
  for (let i = 0; i < size; i++) value = value * 256 + bytes.at(index + i);
  return value;
};

const littleEndian = (bytes: Bytes, index: number, size: number): number => {
  let value = 0;
  for (let i = size - 1; i >= 0; i--) value = value * 256 + bytes.at(index + i);
  return value;
};

const says = (bytes: Bytes, index: number, text: string): boolean =>
  Array.from(text).every((letter, i) => bytes.at(index + i) === letter.charCodeAt(0));

const png = (bytes: Bytes): ImageSize | null =>
  says(bytes, 1, "PNG") && says(bytes, 12, "IHDR")
    ? { width: bigEndian(bytes, 16, 4), height: bigEndian(bytes, 20, 4) }
    : null;

const gif = (bytes: Bytes): ImageSize | null =>
  says(bytes, 0, "GIF8") ? { width: littleEndian(bytes, 6, 2), height: littleEndian(bytes, 8, 2) } : null;

/** The three WebP forms keep the size in 14 bits, 14 packed bits, or 24 bits less one. */
const webp = (bytes: Bytes): ImageSize | null => {
  if (!says(bytes, 0, "RIFF") || !says(bytes, 8, "WEBP")) return null;
  if (says(bytes, 12, "VP8 ")) {
    return { width: littleEndian(bytes, 26, 2) & 0x3fff, height: littleEndian(bytes, 28, 2) & 0x3fff };
  }
  if (says(bytes, 12, "VP8L")) {
    const packed = littleEndian(bytes, 21, 4);
    return { width: (packed % 0x4000) + 1, height: (Math.floor(packed / 0x4000) % 0x4000) + 1 };
  }
  if (!says(bytes, 12, "VP8X")) return null;
  return { width: littleEndian(bytes, 24, 3) + 1, height: littleEndian(bytes, 27, 3) + 1 };
};

/** Frame headers are C0 to CF without the tables C4, C8 and CC. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

const jpeg = (bytes: Bytes): ImageSize | null => {
  if (bytes.at(0) !== 0xff || bytes.at(1) !== 0xd8) return null;
  let index = 2;
  while (index + 9 < bytes.length && bytes.at(index) === 0xff) {
    const marker = bytes.at(index + 1);
    if (isFrame(marker)) {
      return { width: bigEndian(bytes, index + 7, 2), height: bigEndian(bytes, index + 5, 2) };
    }
    index += marker === 0xff ? 1 : 2 + Math.max(2, bigEndian(bytes, index + 2, 2));
  }
  return null;
};

/** The size of a PNG, JPEG, GIF or WebP image given as base64; null if its header cannot be read. */
export const imageSize = (base64: string): ImageSize | null => {
  const bytes = openBase64(base64);
  if (bytes.length < 10) return null;
  const size = png(bytes) ?? gif(bytes) ?? webp(bytes) ?? jpeg(bytes);
  return size !== null && size.width > 0 && size.height > 0 ? size : null;
};
