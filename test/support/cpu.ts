/** Milliseconds that some work keeps this thread busy: what else the machine has to do is not among them. */
export const cpuOf = async (work: () => unknown): Promise<number> => {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
};
