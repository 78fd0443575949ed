/** Joins pieces of bytes. */
export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joint = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0));
  let offset = 0;
  for (const piece of pieces) {
    joint.set(piece, offset);
    offset += piece.length;
  }
  return joint;
}
