/** Size limits of a streamed reply in bytes. */
const byteLimits = { line: 4 * 1024 * 1024, reply: 32 * 1024 * 1024 } as const;

const newline = 10;

/**
 * Creates the check of one reply's bytes before they are parsed; it returns the limit that a chunk exceeds, else
 * null. The result does not depend on how the bytes are cut into chunks.
 */
export const createByteGuard = (
  limits: { readonly line: number; readonly reply: number } = byteLimits,
): ((chunk: Uint8Array) => "line" | "reply" | null) => {
  let total = 0;
  let line = 0;
  return (chunk) => {
    total += chunk.byteLength;
    if (total > limits.reply) return "reply";
    const longest = longestLine(chunk, line, limits.line);
    const last = chunk.lastIndexOf(newline);
    line = last < 0 ? line + chunk.byteLength : chunk.byteLength - last - 1;
    return Math.max(longest, line) > limits.line ? "line" : null;
  };
};

/**
 * Returns the longest line that ends in the chunk, after `open` earlier bytes of its first line; 0 if none can be
 * too long.
 */
const longestLine = (chunk: Uint8Array, open: number, limit: number): number => {
  if (open + chunk.byteLength <= limit) return 0;
  let longest = 0;
  let start = -open;
  for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) {
    longest = Math.max(longest, at - start);
    start = at + 1;
  }
  return longest;
};
