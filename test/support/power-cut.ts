import { PowerCut } from "./bench.ts";
import type { Bench } from "./bench.ts";

/** What plays of power cuts share: a client that asks again, and a session that comes to its rest. */

/** Repeats a command under its key until it is answered: the power may go meanwhile. */
export const insist = (
  bench: Bench,
  op: Parameters<Bench["perform"]>[0],
  params: object,
  key: string,
): Record<string, never> => {
  for (let attempt = 0; attempt < 5; attempt++) {
    try {
      return bench.ok(op, params, key);
    } catch (error) {
      if (!(error instanceof PowerCut)) throw error;
    }
  }
  throw new Error("never answered");
};

/** Lets a session run, and the clock with it, until nothing is due; what is due later than `within` ms stays undone. */
export const settle = async (bench: Bench, within = Infinity): Promise<void> => {
  for (let round = 0; round < 300; round++) {
    await bench.idle();
    const at = bench.alarm();
    if (at === null || at - bench.now() > within) return;
    await bench.pass(Math.max(1, at - bench.now()));
  }
  throw new Error("the session never came to rest");
};

/** The same for a session that may wait for two minutes at most. */
export const settleSoon = (bench: Bench): Promise<void> => settle(bench, 120_000);
