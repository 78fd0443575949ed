import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSide } from "./build.ts";
import { freePort, start, startWorker } from "./server.ts";
import type { WorkerOptions, WorkerServer } from "./server.ts";
import type { Side } from "./table.ts";

/** What a measurement stands on: the bench's model, both bundles, and a folder for all that is stored. */
export interface Setup {
  readonly provider: number;
  readonly folder: string;
  /** Options of a server of that side on storage of this name. */
  readonly optionsOf: (side: Side, name: string) => Promise<WorkerOptions>;
  /** Starts a server of that side on storage of this name. */
  readonly startSide: (side: Side, name: string) => Promise<WorkerServer>;
  readonly close: () => void;
}

/** Starts the bench's model; bundles are built when they are first asked for. */
export const openSetup = async (): Promise<Setup> => {
  const provider = await start([join(import.meta.dirname, "provider.ts")], /\{"port":\d+\}/);
  const { port } = JSON.parse(provider.line) as { port: number };
  const folder = mkdtempSync(join(tmpdir(), "limpet-bench-"));
  const vars = {
    BENCH_PROVIDER: `http://127.0.0.1:${port}`,
    BENCH_KEY: "bench",
    LIMPET_PRIVATE_EGRESS: `127.0.0.1:${port}`,
    LIMPET_DEV: "1",
  };
  const bundles = mkdtempSync(join(folder, "bundles-"));
  const configs = new Map<Side, Promise<string>>();
  const configOf = (side: Side): Promise<string> => {
    const built = configs.get(side) ?? buildSide[side](bundles);
    configs.set(side, built);
    return built;
  };
  const optionsOf = async (side: Side, name: string): Promise<WorkerOptions> => {
    const persist = join(folder, name);
    mkdirSync(persist, { recursive: true });
    return { config: await configOf(side), port: await freePort(), persist, vars };
  };
  return {
    provider: port,
    folder,
    optionsOf,
    startSide: async (side, name) => startWorker(await optionsOf(side, name)),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
};
