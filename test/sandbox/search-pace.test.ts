import { expect, test } from "vitest";
import { bench } from "./bench.ts";
import type { Bench } from "./bench.ts";
import { createLocalWorkspace } from "./local.ts";

/** Searches whose globs are costly let other work in, and end when their time is up. */

const withLongNames = async (count: number) => {
  const local = createLocalWorkspace();
  const made = bench(() => local);
  for (let at = 0; at < count; at += 1) await made.put(`${"a".repeat(150)}${at}`, "x");
  return { ...made, local };
};

/** Counts the turns of the event loop while something runs. */
const turnsDuring = async (work: Promise<unknown>): Promise<number> => {
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 0);
  await work;
  clearInterval(timer);
  return turns;
};

const alternatives = Array.from({ length: 50 }, (_, at) => `${"*a".repeat(8)}${at}`).join(",");
const costly = `{${alternatives}}zz`;

const ignore = ({ put }: Bench) =>
  put(".gitignore", Array.from({ length: 1_000 }, () => `${"*a".repeat(30)}z`).join("\n"));

test("TB-15: a search whose glob or ignore file is costly lets other work in", async () => {
  const made = await withLongNames(200);
  const { sandbox } = made;
  expect(await turnsDuring(sandbox.searchFiles({ pattern: costly }))).toBeGreaterThan(4);
  expect(await turnsDuring(sandbox.searchContent({ pattern: "x", glob: costly }))).toBeGreaterThan(4);
  const few = await withLongNames(10);
  await ignore(few);
  expect(await turnsDuring(few.sandbox.searchContent({ pattern: "x" }))).toBeGreaterThan(8);
});

test("TB-15: a search whose ignore file is costly ends when its time is up, and says that it is not whole", async () => {
  const made = await withLongNames(30);
  await ignore(made);
  const { local, sandbox } = made;
  const content = sandbox.searchContent({ pattern: "x" });
  const files = sandbox.searchFiles({ pattern: "*" });
  const refused = expect(files).rejects.toMatchObject({ code: "limit" });
  await sandbox.capabilities();
  local.advance(60_000);
  expect(await content).toMatchObject({ truncated: true });
  await refused;
});
