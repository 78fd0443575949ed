/**
 * Creates a short wait that callers who write at about the same time share, so that the platform commits their writes
 * together.
 */
export const createBatchWindow = (ms: number): (() => Promise<void>) => {
  let next: Promise<void> | null = null;
  const awaitBatch = async (): Promise<void> => {
    await scheduler.wait(ms);
    next = null;
  };
  return () => (next ??= awaitBatch());
};
