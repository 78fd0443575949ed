/** Counts requests per minute and key in each isolate, which limits abuse but is not an exact count. */

/** Counts one request; `resetMs` is the time to the next window. */
export type CountRequest = (key: string) => {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly resetMs: number;
};

const windowMs = 60_000;
const maxKeys = 10_000;

export function createRequestCounter(limit: number, now: () => number): CountRequest {
  const counts = new Map<string, number>();
  let window = 0;
  return (key) => {
    const current = Math.floor(now() / windowMs);
    if (current !== window || counts.size >= maxKeys) counts.clear();
    window = current;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return {
      allowed: count <= limit,
      remaining: Math.max(0, limit - count),
      resetMs: (current + 1) * windowMs - now(),
    };
  };
}
