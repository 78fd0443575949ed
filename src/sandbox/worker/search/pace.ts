import type { Disk } from "../files/files.ts";

/** Work of a search since it last yielded to other work, and until when it may continue. */
export interface SearchPace {
  readonly until: number;
  /** Whether the time is up. */
  isOver: boolean;
  /** Characters of text. */
  characters: number;
  /** Steps of the pattern. */
  steps: number;
}

/** Comparisons of a glob with a character that take as long as a step of a pattern. */
const comparisonsPerStep = 4;

export const startPace = (disk: Disk, ms: number): SearchPace => ({
  until: disk.now() + ms,
  isOver: false,
  characters: 0,
  steps: 0,
});

/** Counts the comparison of a path with globs, of which this is the length of all. */
export const countGlobs = (
  disk: Disk,
  pace: SearchPace,
  path: string,
  length: number,
): true | Promise<boolean> => countWork(disk, pace, path.length, (path.length * length) / comparisonsPerStep);

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
  return new Promise((resolve) =>
    setTimeout(() => {
      pace.isOver = disk.now() >= pace.until;
      resolve(!pace.isOver);
    }, 0),
  );
}
