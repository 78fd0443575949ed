/** Longer than any deadline of ours (MO-20), so that the SDK's own never fires. */
export const sdkTimeout = 14 * 60_000;

const clients = new WeakMap<typeof globalThis.fetch, Promise<unknown>>();

/** The SDK client that goes with a `fetch`, made at first use: one for each completer. */
export const clientOf = <T>(fetch: typeof globalThis.fetch, load: () => Promise<T>): Promise<T> => {
  const known = clients.get(fetch) as Promise<T> | undefined;
  if (known !== undefined) return known;
  const made = load();
  clients.set(fetch, made);
  return made;
};
