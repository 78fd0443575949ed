/** Reads something again whenever it may have changed, once at a time: a slow server is never asked twice for the same. */

export interface Reader {
  /** Reads now, or once more after the read under way. */
  readonly refresh: () => void;
  /** Gives up the read under way, whose answer would be of no use any more, and reads anew. */
  readonly restart: () => void;
  /** Gives up the read under way. */
  readonly stop: () => void;
}

/** `read` never rejects; an answer that comes after its signal was aborted is left alone. */
export const createReader = (read: (signal: AbortSignal) => Promise<void>): Reader => {
  let isWanted = false;
  let current: AbortController | null = null;
  const readWhileWanted = async (): Promise<void> => {
    while (isWanted) {
      isWanted = false;
      current = new AbortController();
      await read(current.signal);
    }
    current = null;
  };
  const refresh = (): void => {
    isWanted = true;
    if (current === null) void readWhileWanted();
  };
  return {
    refresh,
    restart: () => {
      current?.abort();
      refresh();
    },
    stop: () => {
      isWanted = false;
      current?.abort();
    },
  };
};
