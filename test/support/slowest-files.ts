import type { Reporter, TestModule } from "vitest/node";

/** How many files are printed. */
const count = 10;

const secondsOf = (module: TestModule): number => Math.round(module.diagnostic().duration / 1_000);

/** Prints at the end which files took longest: the first place to look when the tests become slow. */
export const slowestFiles: Reporter = {
  onTestRunEnd: (modules) => {
    if (modules.length < count) return;
    const slowest = modules.toSorted((a, b) => secondsOf(b) - secondsOf(a)).slice(0, count);
    const lines = slowest.map(
      (module) => `${String(secondsOf(module)).padStart(5)} s  ${module.relativeModuleId}`,
    );
    process.stdout.write(`Slowest files\n${lines.join("\n")}\n`);
  },
};
