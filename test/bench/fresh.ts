import { globSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { call } from "./client.ts";
import { firstReply, gather, loop, replyAgain, watchedTurns } from "./scenarios.ts";
import { startWorker } from "./server.ts";
import type { WorkerServer } from "./server.ts";
import type { Setup } from "./setup.ts";
import type { Results, Side } from "./table.ts";

/** What only a server on fresh storage shows: a cold isolate, memory by the session, bytes by the session. */

const sessions = 200;

/** Bytes of the largest database below a folder, in pages that hold something. */
const largestDatabase = (folder: string): number => {
  const sizes = globSync("**/*.sqlite", { cwd: folder }).map((path) => {
    // A runtime that was killed may hold its locks for a moment more.
    const database = new DatabaseSync(join(folder, path), { timeout: 10_000 });
    const pragma = (name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
    const bytes = (pragma("page_count") - pragma("freelist_count")) * pragma("page_size");
    database.close();
    return bytes;
  });
  return Math.max(...sizes);
};

/** Lets wrangler and its proxy get warm, by a route that they answer themselves: the isolate stays cold. */
const warmProxy = async ({ port }: WorkerServer): Promise<void> => {
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  for (let count = 0; count < 5; count++) await call(port, "GET", "/cdn-cgi/local/email");
};

const measureSide = async (
  { provider, optionsOf }: Setup,
  side: Side,
  pass: number,
  results: Results,
): Promise<void> => {
  const options = await optionsOf(side, `fresh-${side}-${pass}`);
  const server = await startWorker(options);
  await warmProxy(server);
  results.add("coldReply", (await firstReply(server)).wall, side);
  for (let count = 0; count < 20; count++) await firstReply(server);
  const bySession = (bytes: number): number => bytes / sessions / 1_000;
  const before = server.memory();
  const lines = await gather(server, sessions);
  results.add("memory", bySession(server.memory() - before), side);
  // Sessions at rest leave the memory after 10 s: a further reply keeps all of the first while the second come.
  await Promise.all(lines.map(replyAgain));
  const between = server.memory();
  const further = await gather(server, sessions);
  results.add("memoryFurther", bySession(server.memory() - between), side);
  for (const line of [...lines, ...further]) line.close();
  const bytes = await watchedTurns(server, 50);
  results.add("turnText", bytes.text / 1_000, side);
  results.add("turnBytes", bytes.wire / 1_000, side);
  await loop(server, 400, 0);
  const { text } = await call(provider, "GET", "/_messages");
  results.add("transcript", Buffer.byteLength(text) / 1_000, side);
  // What a session writes at its rest is written a moment after the end of its run.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  await server.kill();
  results.add("stored", largestDatabase(options.persist) / 1_000, side);
};

/** Measures both sides, each pass on servers of its own. */
export const measureFresh = async (setup: Setup, passes: number, results: Results): Promise<void> => {
  const sides: readonly Side[] = ["floor", "limpet"];
  for (let pass = 0; pass < passes; pass++)
    for (const side of pass % 2 === 0 ? sides : sides.toReversed())
      await measureSide(setup, side, pass, results);
};
