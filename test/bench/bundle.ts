import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root, runWrangler } from "./server.ts";
import type { Results } from "./table.ts";

/** Size and start-up of the default team's Worker. */

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: { readonly functionName: string } }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const activeMs = ({ nodes, samples, timeDeltas }: Profile): number => {
  const idle = new Set(
    nodes.filter(({ callFrame }) => callFrame.functionName === "(idle)").map(({ id }) => id),
  );
  const micros = samples.reduce((sum, id, index) => sum + (idle.has(id) ? 0 : (timeDeltas[index] ?? 0)), 0);
  return micros / 1_000;
};

export const measureBundle = async (folder: string, results: Results): Promise<void> => {
  const config = join(root, "wrangler.toml");
  const said = await runWrangler([
    "deploy",
    "--dry-run",
    "--minify",
    "-c",
    config,
    "--outdir",
    join(folder, "out"),
  ]);
  results.add("bundleSize", Number(/gzip: ([\d.]+) KiB/.exec(said)?.[1] ?? Number.NaN));
  const outfile = join(folder, "startup.cpuprofile");
  await runWrangler(["check", "startup", "-c", config, "--args=--minify", "--outfile", outfile]);
  results.add("startup", activeMs(JSON.parse(readFileSync(outfile, "utf8")) as Profile));
};
