import type { ImageSize } from "../chat/image-size.ts";
import { imageSize } from "../chat/image-size.ts";
import { toBase64 } from "../sandbox/base64.ts";

/** Most bytes of an image whose base64 models still accept, and the most pixels of its longer side. */
const maxImageBytes = 3_932_160;
const maxImagePixels = 8_000;
/** Bytes that certainly contain the header, whatever precedes it. */
const headerBytes = 262_144;

type ImageCheck =
  | { readonly ok: true; readonly type: ImageSize["type"] }
  | { readonly ok: false; readonly problem: string };

/** Returns the format of an image that models accept, or a sentence about why they would refuse it. */
export const checkImage = (bytes: Uint8Array): ImageCheck => {
  const refuse = (why: string): ImageCheck => ({ ok: false, problem: `${why}, so it cannot be shown.` });
  if (bytes.length > maxImageBytes) return refuse(`It is larger than ${maxImageBytes} bytes`);
  const size = imageSize(toBase64(bytes.subarray(0, headerBytes)));
  if (size === null) return refuse("Its header cannot be read");
  if (Math.max(size.width, size.height) > maxImagePixels)
    return refuse(`It is more than ${maxImagePixels} pixels wide or high`);
  return { ok: true, type: size.type };
};
