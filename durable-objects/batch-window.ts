/**
 * A moment that those who write at about the same time wait for together: what they then write in one go is one commit of
 * the platform's.
 */
export const createBatchWindow = (ms: number): (() => Promise<void>) => {
  let next: Promise<void> | null = null;
  const moment = async (): Promise<void> => {
    await scheduler.wait(ms);
    next = null;
  };
  return () => (next ??= moment());
};
