import type { Disk } from "../files/files.ts";

/** Work of a search since it last yielded to other work, and until when it may continue. */
export interface SearchPace {
  readonly until: number;
  /** Characters of text. */
  characters: number;
  /** Steps of the pattern. */
  steps: number;
}

/** Characters, and steps of the pattern, after which a search yields to other work. */
const stretch = { characters: 64 * 1024, steps: 1_000_000 };

/** Counts work and yields from time to time, so that the clock moves. Returns false once the time is up. */
export function countWork(
  disk: Disk,
  pace: SearchPace,
  characters: number,
  steps: number,
): true | Promise<boolean> {
  pace.characters += characters;
  pace.steps += steps;
  if (pace.characters < stretch.characters && pace.steps < stretch.steps) return true;
  pace.characters = 0;
  pace.steps = 0;
  return new Promise((resolve) => setTimeout(() => resolve(disk.now() < pace.until), 0));
}
