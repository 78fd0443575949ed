/** Chance that a seed decides. */

export interface Dice {
  /** An integer from 0 to `below` − 1. */
  readonly roll: (below: number) => number;
  readonly pick: <T>(from: readonly T[]) => T;
}

/** Numbers that a seed decides (mulberry32). */
export const createDice = (seed: number): Dice => {
  let state = seed >>> 0;
  const roll = (below: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
  return { roll, pick: (from) => from[roll(from.length)] as (typeof from)[number] };
};
