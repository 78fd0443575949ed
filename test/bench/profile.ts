import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildFloor, buildLimpet } from "./build.ts";
import { crowd, firstReply, loop, order, stream } from "./scenarios.ts";
import { openInspector } from "../support/inspector.ts";
import { freePort, start, startWorker } from "./server.ts";

/** `node test/bench/profile.ts [limpet|floor] [loop|stream|first|crowd]`: where the CPU of a Worker goes, function by function. */

interface Node {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}
interface Profile {
  readonly nodes: readonly Node[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const named = ({ functionName, url, lineNumber }: Node["callFrame"]): string =>
  `${functionName === "" ? "(anonymous)" : functionName} ${url.split("/").at(-1)}:${lineNumber + 1}`;

const print = ({ nodes, samples, timeDeltas }: Profile): void => {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(
    nodes.flatMap(({ id, children }) => (children ?? []).map((child) => [child, id] as const)),
  );
  const self = new Map<string, number>();
  const total = new Map<string, number>();
  const add = (map: Map<string, number>, key: string, ms: number): void =>
    void map.set(key, (map.get(key) ?? 0) + ms);
  let busy = 0;
  for (const [index, id] of samples.entries()) {
    const node = byId.get(id);
    const ms = (timeDeltas[index] ?? 0) / 1_000;
    if (node === undefined || node.callFrame.functionName === "(idle)") continue;
    busy += ms;
    add(self, named(node.callFrame), ms);
    const seen = new Set<string>();
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const name = named((byId.get(at) as Node).callFrame);
      if (!seen.has(name)) add(total, name, ms);
      seen.add(name);
    }
  }
  const top = (map: Map<string, number>, count: number): void => {
    for (const [name, ms] of [...map].sort(([, a], [, b]) => b - a).slice(0, count))
      console.log(
        `${((ms / busy) * 100).toFixed(1).padStart(6)} %  ${ms.toFixed(1).padStart(8)} ms  ${name}`,
      );
  };
  console.log(`busy ${busy.toFixed(0)} ms\n\nself`);
  top(self, 45);
  console.log("\nwith callees");
  top(total, 90);
};

const [name = "limpet", what = "loop"] = process.argv.slice(2);
const provider = await start([join(import.meta.dirname, "provider.ts")], /\{"port":\d+\}/);
const { port } = JSON.parse(provider.line) as { port: number };
const folder = mkdtempSync(join(tmpdir(), "limpet-profile-"));
const inspectorPort = await freePort();
const server = await startWorker({
  config: await (name === "floor" ? buildFloor() : buildLimpet()),
  port: await freePort(),
  inspectorPort,
  persist: folder,
  vars: {
    BENCH_PROVIDER: `http://127.0.0.1:${port}`,
    BENCH_KEY: "bench",
    LIMPET_PRIVATE_EGRESS: `127.0.0.1:${port}`,
    LIMPET_DEV: "1",
  },
});
const work: Readonly<Record<string, () => Promise<unknown>>> = {
  loop: () => loop(server, 100, 0),
  stream: () => stream(server, 2_000, 1),
  stream50: () => stream(server, 2_000, 50),
  first: () => firstReply(server),
  crowd: () => crowd(server, 50),
};
const times: Readonly<Record<string, number>> = { loop: 8, stream: 30, stream50: 10, first: 100, crowd: 4 };
const one = work[what] ?? (() => order(server, what));
for (let count = 0; count < 3; count++) await one();
const { ask } = await openInspector(inspectorPort);
await ask("Profiler.enable");
await ask("Profiler.setSamplingInterval", { interval: 200 });
await ask("Profiler.start");
for (let count = 0; count < (times[what] ?? 10); count++) await one();
const { profile } = (await ask("Profiler.stop")) as unknown as { profile: Profile };
if (process.argv[4] !== undefined) writeFileSync(process.argv[4], JSON.stringify(profile));
print(profile);
await server.kill();
rmSync(folder, { recursive: true, force: true });
process.exit(0);
