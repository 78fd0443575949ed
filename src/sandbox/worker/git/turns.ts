import type { Database } from "../files/database.ts";

/** Runs the work of one workspace piece after piece. */
export type TakeTurn = <Result>(database: Database, run: () => Promise<Result>) => Promise<Result>;

/** Creates a queue for each workspace. */
export const createTurns = (): TakeTurn => {
  const queues = new WeakMap<Database, Promise<unknown>>();
  return async (database, run) => {
    const before = queues.get(database);
    const { promise, resolve } = Promise.withResolvers<void>();
    queues.set(database, promise);
    await before;
    try {
      return await run();
    } finally {
      resolve();
    }
  };
};
