import { expect, test } from "vitest";
import { bench } from "./bench.ts";
import { createLocalWorkspace } from "./local.ts";

test("TB-28, SE-38: at most 2000 files are looked at, in the order of their paths", async () => {
  const { put, sandbox } = bench(() => createLocalWorkspace());
  const names = Array.from({ length: 1_999 }, (_, n) => `f${String(n).padStart(4, "0")}.txt`);
  for (const name of names) await put(name, "");
  await put("y.txt", "");
  await put("z.txt", "");
  const found = await sandbox.localize({ paths: ["y.txt", "z.txt"], identifiers: [], phrases: [] });
  expect(found.map(({ path }) => path)).toEqual(["y.txt"]);
});
