/** Reads a body to its end or to `maxBytes` (counted after inflation); `cut` tells whether the limit was reached. */
export const readUpTo = async (
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<{ readonly bytes: Uint8Array; readonly cut: boolean }> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = (body ?? new Blob([]).stream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    chunks.push(read.value.subarray(0, maxBytes - size));
    size += read.value.byteLength;
    if (size <= maxBytes) continue;
    await reader.cancel();
    break;
  }
  const bytes = new Uint8Array(Math.min(size, maxBytes));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return { bytes, cut: size > maxBytes };
};

/** Wraps a body so that it fails with `tooLarge()` after more than `maxBytes`. */
export const capBody = (
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  tooLarge: () => Error,
): ReadableStream<Uint8Array> => {
  const reader = body.getReader();
  let size = 0;
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      size += value.byteLength;
      if (size <= maxBytes) return controller.enqueue(value);
      await reader.cancel();
      controller.error(tooLarge());
    },
    cancel: (reason) => reader.cancel(reason),
  });
};
