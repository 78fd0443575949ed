/** Returns the base64 of a PNG's header that says this size. */
export const pngOf = (width: number, height: number): string => {
  const bytes = Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\0\0\0\0\0", "latin1");
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes.toString("base64");
};

/** The base64 of a JPEG's header: one pixel. */
export const jpeg = Buffer.from("\xff\xd8\xff\xc0\0\x0b\x08\0\x01\0\x01\x01\x01\x11\0", "latin1").toString(
  "base64",
);
