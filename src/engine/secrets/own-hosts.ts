/** Hosts of this deployment, which its agents do not call. */
export interface OwnHosts {
  readonly has: (host: string) => boolean;
  /** Records a host at which the operator called the deployment. */
  readonly learn: (host: string) => void;
}

const mostLearned = 20;

/** Creates the set of the hosts of the team file and the newest of those that were recorded. */
export const createOwnHosts = (configured: readonly string[]): OwnHosts => {
  const learned = new Set<string>();
  return {
    has: (host) => configured.includes(host) || learned.has(host),
    learn: (host) => {
      learned.delete(host);
      learned.add(host);
      const [oldest] = learned;
      if (learned.size > mostLearned && oldest !== undefined) learned.delete(oldest);
    },
  };
};
