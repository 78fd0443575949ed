/**
 * Reads a body to its end, to `maxBytes` (counted after inflation) or until `enough` is aborted; `cut` says that its end
 * was not reached.
 */
export const readUpTo = async (
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  enough?: AbortSignal,
): Promise<{ readonly bytes: Uint8Array; readonly cut: boolean }> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = (body ?? new Blob([]).stream()).getReader();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  enough?.addEventListener("abort", stop);
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    chunks.push(read.value.subarray(0, maxBytes - size));
    size += read.value.byteLength;
    if (size <= maxBytes) continue;
    await reader.cancel();
    break;
  }
  enough?.removeEventListener("abort", stop);
  const bytes = new Uint8Array(Math.min(size, maxBytes));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return { bytes, cut: size > maxBytes || enough?.aborted === true };
};

/** Wraps a body so that it fails with `tooLarge()` once it gave more than `maxBytes`. */
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
