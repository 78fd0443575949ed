import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildFloor, buildLimpet } from "./build.ts";
import { measureBundle } from "./bundle.ts";
import { measureCold, measureCounts, measureCrash } from "./counts.ts";
import { measureRatios } from "./ratios.ts";
import { measureAgents } from "./agents.ts";
import { measureEffects } from "./effects.ts";
import { freePort, start, startWorker } from "./server.ts";
import type { WorkerOptions } from "./server.ts";
import { holds, tableOf } from "./table.ts";
import type { Figure } from "./table.ts";

/**
 * `npm run bench [-- --quick] [-- --only=ratios,counts,crash,cold,bundle,effects,agents]`: the product against a floor written by hand, in
 * one run on one machine. Prints a table; exit code 1 if a figure misses its must.
 */

const quick = process.argv.includes("--quick");
const chosen = process.argv
  .find((argument) => argument.startsWith("--only="))
  ?.slice(7)
  .split(",");
const parts =
  chosen ??
  (quick
    ? ["ratios", "counts", "crash", "bundle", "effects", "agents"]
    : ["ratios", "counts", "crash", "cold", "bundle", "effects", "agents"]);
const tell = (text: string): void => void process.stderr.write(`${text}\n`);

const provider = await start([join(import.meta.dirname, "provider.ts")], /\{"port":\d+\}/);
const { port: providerPort } = JSON.parse(provider.line) as { port: number };
const folder = mkdtempSync(join(tmpdir(), "limpet-bench-"));
const vars = {
  BENCH_PROVIDER: `http://127.0.0.1:${providerPort}`,
  BENCH_KEY: "bench",
  LIMPET_PRIVATE_EGRESS: `127.0.0.1:${providerPort}`,
  LIMPET_DEV: "1",
};
tell("building");
const [floorConfig, limpetConfig] = [await buildFloor(), await buildLimpet()];
const optionsOf = async (name: string, config: string): Promise<WorkerOptions> => ({
  config,
  port: await freePort(),
  persist: join(folder, name),
  vars,
});

const ratios = async (): Promise<readonly Figure[]> => {
  const floor = await startWorker(await optionsOf("floor", floorConfig));
  const limpet = await startWorker(await optionsOf("limpet", limpetConfig));
  const sizes = quick
    ? ({ repetitions: 3, turns: [20, 100], sessions: 50 } as const)
    : ({ repetitions: 7, turns: [20, 400], sessions: 200 } as const);
  const figures = await measureRatios(floor, limpet, sizes, tell);
  await Promise.all([floor.kill(), limpet.kill()]);
  return figures;
};

const work: Readonly<Record<string, () => Promise<readonly Figure[]>>> = {
  ratios,
  counts: async () => measureCounts(await optionsOf("counts", limpetConfig)),
  crash: async () => [
    await measureCrash(await optionsOf("crash", limpetConfig), providerPort, quick ? 1 : 5),
  ],
  cold: async () => [await measureCold(await optionsOf("cold", limpetConfig), providerPort)],
  bundle: () => measureBundle(join(folder, "bundle")),
  effects: () => measureEffects(tell),
  agents: () => measureAgents(tell, quick ? 3 : 7),
};

const figures: Figure[] = [];
for (const part of parts) {
  tell(part);
  figures.push(...((await work[part]?.()) ?? []));
}
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`${tableOf(figures)}\n`);
process.exit(figures.every(holds) ? 0 : 1);
