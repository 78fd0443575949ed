/** Milliseconds that some work keeps this thread busy: what else the machine has to do is not among them. */
export const cpuOf = async (work: () => unknown): Promise<number> => {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
};

/** The least of five times that some work keeps this thread busy, since the collector of garbage comes when it likes. */
export const leastCpuOf = async (work: () => unknown): Promise<number> => {
  const times: number[] = [];
  for (let pass = 0; pass < 5; pass += 1) times.push(await cpuOf(work));
  return Math.min(...times);
};
