const pieceLength = 32_768;

/** Base64 of bytes, of any length. */
export const base64Of = (bytes: Uint8Array): string => {
  let binary = "";
  for (let at = 0; at < bytes.length; at += pieceLength)
    binary += String.fromCharCode(...bytes.subarray(at, at + pieceLength));
  return btoa(binary);
};
