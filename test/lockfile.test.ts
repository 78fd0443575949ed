import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lock = JSON.parse(readFileSync(join(import.meta.dirname, "../package-lock.json"), "utf8")) as {
  packages: Readonly<Record<string, Locked>>;
};

/** Whether `name` is found from the package at `from`, by walking up as Node does. */
const isLocked = (from: string, name: string): boolean => {
  if (`${from === "" ? "" : `${from}/`}node_modules/${name}` in lock.packages) return true;
  return from !== "" && isLocked(from.slice(0, Math.max(0, from.lastIndexOf("node_modules/") - 1)), name);
};

test("the lock file holds every package for every platform, or npm ci refuses a fresh clone", () => {
  const missing = Object.entries(lock.packages).flatMap(([from, locked]) =>
    Object.keys({ ...locked.dependencies, ...locked.devDependencies, ...locked.optionalDependencies })
      .filter((name) => !isLocked(from, name))
      .map((name) => `${from} needs ${name}`),
  );
  expect(missing).toEqual([]);
});
