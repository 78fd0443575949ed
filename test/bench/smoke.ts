import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildFloor, buildLimpet } from "./build.ts";
import { crowd, firstReply, loop, order, stream } from "./scenarios.ts";
import { freePort, start, startWorker } from "./server.ts";
const provider = await start([join(import.meta.dirname, "provider.ts")], /\{"port":\d+\}/);
const { port } = JSON.parse(provider.line);
const folder = mkdtempSync(join(tmpdir(), "bench-"));
const vars = { BENCH_PROVIDER: `http://127.0.0.1:${port}`, BENCH_KEY: "x", LIMPET_PRIVATE_EGRESS: `127.0.0.1:${port}`, LIMPET_DEV: "1" };
const only = process.argv[2];
const targets = [["floor", await buildFloor()], ["limpet", await buildLimpet()]].filter(([n]) => only === undefined || n === only);
for (const [name, config] of targets) {
  const server = await startWorker({ config: config!, port: await freePort(), persist: join(folder, name!), vars });
  console.log(name, "up");
  console.log(name, "order", await order(server, "hello"));
  for (let i = 0; i < 3; i++) console.log(name, "order", await order(server, "hello"));
  for (let i = 0; i < 4; i++) console.log(name, "first", await firstReply(server));
  for (let i = 0; i < 4; i++) console.log(name, "loop20", (await loop(server, 20, 0)).turn);
  const big = await loop(server, 400, 5);
  console.log(name, "loop400", big.turn, big.next);
  for (let i = 0; i < 3; i++) console.log(name, "stream1", await stream(server, 2000, 1));
  for (let i = 0; i < 3; i++) console.log(name, "stream50", await stream(server, 2000, 50));
  for (let i = 0; i < 2; i++) console.log(name, "crowd", await crowd(server, 200));
  await server.kill();
}
process.exit(0);
