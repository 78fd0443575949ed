/**
 * How much random tests play. `npm run test:long` plays ten times as much, on seeds that no day had before; the seed of
 * what fails stands in its message, and is played again by the same test with that seed in its place.
 */

/** How many times as much as by default. */
const factor = Number(process.env["LIMPET_PLAYS"] ?? 1);

/** What a long run adds to seeds: another number each day. */
const shift = factor === 1 ? 0 : Math.floor(Date.now() / 86_400_000) * 1_000;

/** Size of a property of fast-check; one without a seed gets another each time. */
interface PropertySize {
  readonly numRuns: number;
  readonly seed?: number;
}

/** Returns the size of a property that plays so often by default. */
export const sizeOf = (numRuns: number, seed?: number): PropertySize => ({
  numRuns: numRuns * factor,
  ...(seed === undefined ? {} : { seed: seed + shift }),
});

/** Seed of a stage, and those of the schedules that are played on it. */
interface StageSeeds {
  readonly stage: number;
  readonly seeds: readonly number[];
}

/** Returns the seeds of so many schedules on so many stages by default. */
export const seedsOf = (stages: number, schedules: number): readonly StageSeeds[] =>
  Array.from({ length: stages * factor }, (_, index) => {
    const stage = shift + index;
    const seeds = Array.from({ length: schedules / stages }, (__, round) => stage * 1_000 + round);
    return { stage, seeds };
  });
