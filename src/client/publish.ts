/** This file tells subscribers of changes, at most once a frame. */

const frameMs = 16;

export interface Publisher<T> {
  /** Returns the same object until subscribers were called. */
  readonly get: () => T;
  readonly subscribe: (listener: () => void) => () => void;
  /** Builds the value anew at the end of this task, or at the next frame if there was one a moment ago. */
  readonly schedule: () => void;
}

const isSame = (one: object, other: object): boolean => {
  const before = new Map(Object.entries(one));
  const entries = Object.entries(other);
  return entries.length === before.size && entries.every(([name, value]) => before.get(name) === value);
};

/** Publishes what `build` returns; a value whose fields are those of the last one is not published. */
export const createPublisher = <T extends object>(first: T, build: () => T): Publisher<T> => {
  const listeners = new Set<() => void>();
  let value = first;
  let publishedAt = Number.NEGATIVE_INFINITY;
  let isScheduled = false;
  const publish = (): void => {
    isScheduled = false;
    publishedAt = performance.now();
    const next = build();
    if (isSame(value, next)) return;
    value = next;
    for (const listener of listeners) listener();
  };
  return {
    get: () => value,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    schedule: () => {
      if (isScheduled) return;
      isScheduled = true;
      const wait = publishedAt + frameMs - performance.now();
      if (wait <= 0) queueMicrotask(publish);
      else setTimeout(publish, wait);
    },
  };
};
